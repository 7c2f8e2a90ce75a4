// What a benchmark's source holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/bench/case.h"

namespace restride::bench {

/// Random bits; but mostly numbers of everyday size where floats are going to be cast, because a random f32 nearly
/// always overflows f16, and only such numbers where peers that calculate (x * 1 + 0) meet floats.
void fill_source(std::span<std::byte> memory, const CaseSpec& spec, std::uint64_t seed, bool for_peers);

}  // namespace restride::bench
