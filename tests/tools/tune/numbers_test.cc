#include "tools/tune/numbers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/api/machines.h"
#include "src/cpu/machine.h"

namespace restride::tune {
namespace {

TEST(Numbers, AreTriedAtWhatAFileMayHave) {
  std::set<std::string> names;
  for (const Tried& t : tried_numbers(cpu::kZen5Machine)) {
    EXPECT_TRUE(names.insert(t.number).second) << t.number;
    for (const double value : t.values) {
      cpu::CpuMachine m = cpu::kZen5Machine;
      set_number(&m, t.number, t.factors ? value * number(m, t.number) : value);
      EXPECT_NO_THROW(api::MachineFile(api::machine_file_text(&m, {}))) << t.number << ' ' << value;
    }
  }
}

TEST(Numbers, OfAGpuAreTriedAtWhatAFileMayHave) {
  const Gpu start{{}, cuda::kH200Costs};
  std::set<std::string> names;
  for (const Tried& t : tried_numbers(start)) {
    EXPECT_TRUE(names.insert(t.number).second) << t.number;
    for (const double value : t.values) {
      Gpu gpu = start;
      set_number(&gpu, t.number, value * number(gpu, t.number));
      EXPECT_NE(number(gpu, t.number), number(start, t.number)) << t.number;
      const cuda::GpuNumbers written{"mine", 9, 0, 4000, gpu.costs};
      const api::MachineFile file(api::machine_file_text(nullptr, {&written, 1}));
      EXPECT_EQ(number(Gpu{{}, file.gpus()[0].costs}, t.number), number(gpu, t.number)) << t.number;
    }
  }
  EXPECT_GT(names.size(), 150U);
  EXPECT_LE(names.size(), number_names(start).size());
}

}  // namespace
}  // namespace restride::tune
