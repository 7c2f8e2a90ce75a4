#include "src/plan/decision.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace restride {
namespace {

TEST(Names, AreDistinct) {
  std::set<std::string_view> families;
  for (int i = 0; i < plan::kFamilyCount; ++i) families.insert(plan::name(static_cast<plan::Family>(i)));
  EXPECT_EQ(families.size(), static_cast<std::size_t>(plan::kFamilyCount));
  std::set<std::string_view> params;
  for (int i = 0; i < plan::kParamCount; ++i) params.insert(plan::name(static_cast<plan::ParamId>(i)));
  EXPECT_EQ(params.size(), static_cast<std::size_t>(plan::kParamCount));
}

}  // namespace
}  // namespace restride
