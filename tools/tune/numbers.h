// What `restride tune` fits: the numbers of a processor and of a GPU, by their names, and what planning makes of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cpu/costs.h"
#include "src/cuda/machine.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::tune {

/// A number that is fitted, and what it is tried at: values, or factors of what it is.
struct Tried {
  std::string number;
  std::vector<double> values;
  bool factors = false;
};

/// A GPU with numbers of its own.
struct Gpu {
  cuda::CudaMachine machine;  ///< `costs` of it stand for nothing
  cuda::Costs costs;
};

/// What is fitted: of a processor first the shapes of tiles and how memory is read, then costs, which choose among
/// kernels; of a GPU costs, which do both.
std::vector<Tried> tried_numbers(const cpu::CpuMachine& machine);
std::vector<Tried> tried_numbers(const Gpu& gpu);

/// All of them, as a machine file has them; those of packed/staged behind the size of their units:
/// "staged_bytes.whole".
std::vector<std::string> number_names(const cpu::CpuMachine& machine);
std::vector<std::string> number_names(const Gpu& gpu);

/// The number of this name; a flag is 0 or 1. The name is one of number_names.
double number(const cpu::CpuMachine& machine, std::string_view name);
double number(const Gpu& gpu, std::string_view name);
void set_number(cpu::CpuMachine* machine, std::string_view name, double value);
void set_number(Gpu* gpu, std::string_view name, double value);

plan::Decision plan(const layout::Canonical& c, const cpu::CpuMachine& machine);
plan::Decision plan(const layout::Canonical& c, const Gpu& gpu);

}  // namespace restride::tune
