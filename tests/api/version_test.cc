#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <restride/copy.hpp>

TEST(Version, HasThreeParts) {
  const std::string v(restride::version());
  EXPECT_EQ(std::count(v.begin(), v.end(), '.'), 2) << v;
}
