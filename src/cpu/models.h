// Processors for which a copy may be planned and drawn on any machine: those that were measured. Compiled into
// restride_trace, not into the library, which plans for the processor that it runs on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/cpu/costs.h"

namespace restride::cpu {

struct CpuModel {
  std::string_view word;  ///< what a user calls it: zen4
  CpuMachine machine;     ///< with what its instruction set permutes
  std::int32_t vector_bytes = 0;
};

std::span<const CpuModel> cpu_models() noexcept;

}  // namespace restride::cpu
