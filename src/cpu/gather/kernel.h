// Moves: any layout into any layout, unit by unit.
// Applies when: always, also where source and destination have no common modes (two_sided).
// Task map: task t is unit t of the canonical walk; a call walks its range with an odometer on each side.
// Buffers: none.
// Traffic: a load and a store a unit; sectors as the layouts scatter them.
// Source and measured: copy kernels on sizes and byte strides of both sides, as ggml's cpy.
#pragma once

#include "src/cpu/gather/args.h"

namespace restride::cpu {

void gather(const GatherArgs& args, std::byte* dst, const std::byte* src, std::int64_t begin,
            std::int64_t end) noexcept;

}  // namespace restride::cpu
