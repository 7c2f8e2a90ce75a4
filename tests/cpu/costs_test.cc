#include "src/cpu/costs.h"

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
  copy.name = kAmdMachine.name;
  for (const auto& n : kCpuNumbers)
    if (n.real != nullptr)
      copy.*n.real = kAmdMachine.*n.real;
    else if (n.whole != nullptr)
      copy.*n.whole = kAmdMachine.*n.whole;
    else
      copy.*n.flag = kAmdMachine.*n.flag;
  EXPECT_EQ(copy, kAmdMachine);
}

}  // namespace
}  // namespace restride::cpu
