#include "src/base/nearest.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace restride::base {
namespace {

std::string nearest(std::string_view typed, std::initializer_list<const char*> names) {
  Nearest nearest(typed);
  for (const char* name : names) nearest.show(name);
  return nearest.found();
}

TEST(Nearest, CountsLettersToPutInLeaveOutAndChange) {
  EXPECT_EQ(edits("axes", "axes"), 0u);
  EXPECT_EQ(edits("axs", "axes"), 1u);
  EXPECT_EQ(edits("axess", "axes"), 1u);
  EXPECT_EQ(edits("axis", "axes"), 1u);
  EXPECT_EQ(edits("", "axes"), 4u);
}

TEST(Nearest, IsFoundWhereAThirdOfTheLettersIsWrong) {
  EXPECT_EQ(nearest("Flaot32", {"float64", "float32", "f32"}), "float32");
  EXPECT_EQ(nearest("f33", {"f16", "f32"}), "f32");
  EXPECT_EQ(nearest("abacus", {"f16", "f32"}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'f'), {"f16", "f32"}), "") << "and costs nothing";
}

}  // namespace
}  // namespace restride::base
