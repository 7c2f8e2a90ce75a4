// Is the output right? Compared with the naive loop, element by element, over poisoned memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <restride/layout.hpp>

namespace restride::bench {

/// Bytes of poison kept in front of and behind every output buffer.
inline constexpr std::int64_t kGuardBytes = 4096;

/// What is wrong with `dst`, or nothing. `dst` and `src` are the buffers the layouts' offsets count from; `guarded`
/// is the memory around `dst` that must still be poison wherever the layout has no element. The elements of `dst`
/// are poisoned again on the way. Cost: one naive pass over both sides, on all cores.
std::optional<std::string> find_fault(std::byte* dst, const Layout& dst_layout, const std::byte* src,
                                      const Layout& src_layout, std::span<std::byte> guarded);

}  // namespace restride::bench
