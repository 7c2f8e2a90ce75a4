// What the cost model knows of a GPU and of the code that is loaded on it; and a GPU's numbers as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/json_value.h"
#include "src/cuda/costs.h"

namespace restride::cuda {

/// The defaults are an H200's.
struct CudaMachine {
  std::string_view name = "NVIDIA H200";  ///< whose costs these are: the nearest one's where a GPU was never measured
  const Costs* costs = &kH200Costs;       ///< of that name; lives as long as the process
  int cc_major = 9;
  int cc_minor = 0;
  int sm_count = 132;
  std::int64_t l2_bytes = 60 << 20;
  std::int64_t shared_per_sm_bytes = 228 << 10;
  std::int64_t shared_per_block_bytes = 227 << 10;  ///< opt-in maximum
  int threads_per_sm = 2048;
  bool bulk_copies = true;  ///< the kernels that this GPU runs hold bulk tensor copies, and its driver takes them
  double copy_bytes_per_ns = 4250;  ///< device-to-device copy of a large buffer, read + written
};

/// A GPU that was measured.
struct GpuNumbers {
  std::string_view name;
  std::int64_t cc_major = 0;
  std::int64_t cc_minor = 0;
  double copy_bytes_per_ns = 0;
  Costs costs;
};

/// What a tile of packed/staged costs, by the size of units, and how a file calls it.
struct StagedPart {
  std::string_view name;
  StagedCosts Costs::*costs;
};
inline constexpr StagedPart kStagedParts[] = {{"staged_bytes", &Costs::staged_bytes},
                                              {"staged_halves", &Costs::staged_halves},
                                              {"staged_wider", &Costs::staged_wider},
                                              {"staged_words", &Costs::staged_words}};

/// Sets the name and the costs of the nearest GPU that was measured: one of `own`, or one that restride knows.
/// Nearest is the one of the closest compute capability, of several the one that copies closest to as fast; of equals
/// the first of `own`, which has to live as long as the process.
void take_nearest_costs(std::span<const GpuNumbers> own, CudaMachine* gpu) noexcept;

/// {"name": "...", "cc_major": 9, ...}: all of its numbers.
std::string to_json(const GpuNumbers& gpu);

/// The GPU that `in` describes, with an H200's costs where it names none; the name is a view into `in`.
/// Errors: ParseError, which names the number and what it may be.
GpuNumbers gpu_numbers_from(const base::JsonValue& in);

}  // namespace restride::cuda
