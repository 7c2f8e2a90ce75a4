// Which processor this is, as the planner sees it; and its numbers as text.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/json_value.h"
#include "src/cpu/costs.h"

namespace restride::cpu {

enum class CpuVendor : std::uint8_t { kOther, kIntel, kAmd };

/// What a processor says of itself.
struct CpuTraits {
  CpuVendor vendor = CpuVendor::kOther;
  std::int64_t first_cache_bytes = 0;  ///< of data; 0: it does not say
  std::int64_t second_cache_bytes = 0;
};

/// Of the machines that were measured the nearest: of the same vendor, where there are any, the one whose caches are
/// closest.
const CpuMachine& nearest_cpu(const CpuTraits& traits) noexcept;

/// The nearest machine's numbers, and what the instruction set here permutes.
const CpuMachine& this_cpu() noexcept;

/// {"name": "...", "row_ns": 6, ...}: all of its numbers.
std::string to_json(const CpuMachine& machine);

/// `like`, with the numbers that `in` names, which may be some or all; the name is a view into `in`.
/// Errors: ParseError, which names the number and what it may be.
CpuMachine cpu_machine_from(const base::JsonValue& in, const CpuMachine& like);

}  // namespace restride::cpu
