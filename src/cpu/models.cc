#include "src/cpu/models.h"

namespace restride::cpu {
namespace {

// What cpu/machine.cc finds out where the kernels run: permutes of two vectors of bytes with AVX-512, none with AVX2.
constexpr CpuModel with_avx512(std::string_view word, CpuMachine machine) {
  machine.least_shuffled_unit = 1;
  return {word, machine, 64};
}

constexpr CpuModel with_avx2(std::string_view word, CpuMachine machine) {
  machine.least_shuffled_unit = 32;
  return {word, machine, 32};
}

constexpr CpuModel kModels[] = {with_avx512("xeon", CpuMachine()), with_avx512("zen5", kZen5Machine),
                                with_avx512("zen4", kZen4Machine), with_avx2("zen3", kZen3Machine)};

}  // namespace

std::span<const CpuModel> cpu_models() noexcept { return kModels; }

}  // namespace restride::cpu
