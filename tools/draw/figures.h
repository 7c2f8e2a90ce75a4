// The numbers of a piece of a copy, counted from what is told of it (src/plan/trace.h): drawings, pages and JSON show
// these and no others.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/plan/trace.h"

namespace restride::draw {

/// The grain of a device's memory: what it fetches at once, and what its caches keep together.
struct Grain {
  int sector_bytes = 64;
  int line_bytes = 64;
  bool gpu = false;
  friend bool operator==(const Grain&, const Grain&) = default;
};
inline constexpr Grain kCpuGrain{64, 64, false};
inline constexpr Grain kGpuGrain{32, 128, true};

/// What of a side a piece touches.
struct SideFigures {
  std::int64_t bytes = 0;     ///< that its accesses name, each once
  std::int64_t used = 0;      ///< of its units
  std::int64_t sectors = 0;   ///< in which they lie
  std::int64_t lines = 0;     ///< likewise
  std::int64_t accesses = 0;  ///< GPU: instructions of warps. CPU: runs
};

/// Shared memory, in cycles of its 32 banks. `least`: what the same bytes would take without a conflict.
struct BankFigures {
  std::int64_t cycles = 0, least = 0;
  std::int64_t worst = 1;  ///< of an instruction, in cycles for one
};

inline constexpr int kBanks = 32;  ///< of shared memory

/// One instruction of a warp.
struct Instruction {
  plan::Space space = plan::Space::kSrc;
  bool store = false;
  std::int32_t step = 0, warp = 0;
  std::vector<plan::Access> lanes;
};

struct Figures {
  SideFigures src, dst;
  std::int64_t stage_bytes = 0;
  BankFigures put, taken;  ///< GPU
  BankFigures plain;       ///< as `taken`, if nothing kept lanes apart; all 0 where that is not told
  Instruction first_load, first_put, first_take, first_store;  ///< of the first warp that has any
  SideFigures first_load_is, first_store_is;
};

Figures figures_of(const plan::Trace& t, const Grain& grain);

/// The last multiple of `step` that is not above `value`.
inline std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  const std::int64_t q = value / step;
  return (q - (value % step < 0 ? 1 : 0)) * step;
}

/// Cycles of the banks for one instruction, and those without a conflict: lanes of more than 4 bytes are served in as
/// many cycles as their bytes take.
BankFigures banks_of(const Instruction& i);

/// Lanes of this number that meet another word in their bank, where the instruction has conflicts.
std::vector<std::int32_t> clashing(const Instruction& i);

nlohmann::ordered_json to_json(const plan::Trace& t, const Figures& f);

}  // namespace restride::draw
