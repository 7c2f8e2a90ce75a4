#include "src/cpu/costs.h"

#include <gtest/gtest.h>

#include <set>

namespace restride::cpu {
namespace {

TEST(CpuNumbers, NameEachNumberOnce) {
  std::set<std::string_view> names;
  for (const CpuNumber& n : kCpuNumbers) {
    EXPECT_TRUE(names.insert(n.name).second) << n.name;
    EXPECT_NE(n.real == nullptr, n.whole == nullptr) << n.name;
  }
}

TEST(CpuNumbers, HoldWhatTellsTheMachinesApart) {
  CpuMachine copy;
  copy.name = kAmdMachine.name;
  copy.near = kAmdMachine.near;
  for (const CpuNumber& n : kCpuNumbers)
    if (n.real != nullptr)
      copy.*n.real = kAmdMachine.*n.real;
    else
      copy.*n.whole = kAmdMachine.*n.whole;
  EXPECT_EQ(copy, kAmdMachine);
}

}  // namespace
}  // namespace restride::cpu
