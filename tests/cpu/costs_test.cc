#include "src/cpu/numbers.h"

#include <gtest/gtest.h>

#include <set>

namespace restride::cpu {
namespace {

TEST(CpuNumbers, NameEachNumberOnce) {
  std::set<std::string_view> names;
  for (const auto& n : kCpuNumbers) {
    EXPECT_TRUE(names.insert(n.name).second) << n.name;
    EXPECT_EQ((n.real != nullptr) + (n.whole != nullptr) + (n.flag != nullptr), 1) << n.name;
  }
}

TEST(CpuNumbers, HoldWhatTellsTheMachinesApart) {
  CpuMachine copy;
  copy.name = kZen5Machine.name;
  for (const auto& n : kCpuNumbers)
    if (n.real != nullptr)
      copy.*n.real = kZen5Machine.*n.real;
    else if (n.whole != nullptr)
      copy.*n.whole = kZen5Machine.*n.whole;
    else
      copy.*n.flag = kZen5Machine.*n.flag;
  EXPECT_EQ(copy, kZen5Machine);
}

}  // namespace
}  // namespace restride::cpu
