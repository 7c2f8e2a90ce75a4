#include "tools/progress.h"

#include <gtest/gtest.h>

namespace restride::tools {
namespace {

TEST(Progress, CountsWhatWasReadAndWrittenAsReportsDo) {
  EXPECT_EQ(progress_line(0.5, 8e9, 2), "[###############...............]  50 %  2.00 GB/s  2 s left");
  EXPECT_EQ(progress_line(0, 8e9, 2), "[..............................]   0 %  0.00 GB/s  0 s left");
  EXPECT_EQ(progress_line(1, 8e9, 4), "[##############################] 100 %  2.00 GB/s  0 s left");
}

}  // namespace
}  // namespace restride::tools
