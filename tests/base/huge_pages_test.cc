#include "src/base/huge_pages.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace restride::base {
namespace {

TEST(HugePages, AreOffWhereTheSettingIsNever) {
  const test::TemporaryFolder folder;
  const std::string setting = folder / "enabled";
  const auto off = [&](const char* text) {
    test::write_file(setting, text);
    return huge_pages_are_off(setting.c_str());
  };
  EXPECT_TRUE(off("always madvise [never]\n"));
  EXPECT_FALSE(off("always [madvise] never\n"));
  EXPECT_FALSE(off("[always] madvise never\n"));
  EXPECT_FALSE(off(""));
  EXPECT_FALSE(huge_pages_are_off((folder / "none").c_str()));
}

}  // namespace
}  // namespace restride::base
