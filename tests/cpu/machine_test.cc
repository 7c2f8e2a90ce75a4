#include "src/cpu/machine.h"

#include <gtest/gtest.h>

namespace restride::cpu {
namespace {

TEST(ThisCpu, TakesTheNumbersOfANamedMachine) {
  CpuMachine here = this_cpu();
  EXPECT_GE(here.least_shuffled_unit, 1);
  here.least_shuffled_unit = 1;  // of the instruction set, not of the machine
  EXPECT_TRUE(here == CpuMachine() || here == kAmdMachine) << here.name;
}

}  // namespace
}  // namespace restride::cpu
