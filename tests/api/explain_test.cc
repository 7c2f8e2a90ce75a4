#include <gtest/gtest.h>

#include "tests/support/plan_text.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::made;

TEST(Explain, ShowsTheCanonicalFormTheChoiceAndWhatLost) {
  EXPECT_TRUE(holds(made("f32 (64,96)", "f32 (64,96):(1,64)").explain(), "src        f32 (64,96):(1,64)",
                    "dst        f32 (64,96):(96,1)",
                    "canonical  unit 4: (96,64) dst (4,384)b src (256,4)b, innermost first", "device     cpu, 1 thread",
                    "chosen     ", "tile_rows=", "others     ",
                    "run      does not apply: the copy is not one run contiguous on both sides"));
}

}  // namespace
}  // namespace restride
