// What the arguments of every CPU kernel begin with. Each family has its own in <family>/args.h; a plan holds one of
// them (cpu/families.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cpu/cast/cast.h"
#include "src/cpu/nest.h"

namespace restride::cpu {

/// Moves tasks [begin, end) of a plan. Any split of [0, tasks) over calls and threads writes every byte of dst
/// once; calls on disjoint ranges write disjoint bytes.
template <class Args>
using KernelCode = void (*)(const Args& args, std::byte* dst, const std::byte* src, std::int64_t begin,
                            std::int64_t end) noexcept;

struct CommonArgs {
  std::int64_t tasks = 0;
  std::int64_t align_tasks = 1;  ///< a thread's share is a multiple of this, where it costs nothing
  std::int64_t dst_shift = 0;    ///< bytes from the canonical base, where a kernel walks a mode backwards
  std::int64_t src_shift = 0;

  std::int32_t dst_unit = 1;
  std::int32_t src_unit = 1;
  CastRun cast_run = nullptr;  ///< null: bits move untouched
  CastStrided cast_strided = nullptr;
  bool stream = false;  ///< stores bypass the caches
  /// With `stream`, how src is read. False: from many places in turn, because the prefetcher runs ahead on all of them;
  /// what it cannot follow is prefetched into the second cache. True: all of it is prefetched, a few KiB ahead, into
  /// the first cache and no other.
  bool near = false;
};

/// Units in one stride on either side: what run and rows are made of.
struct StridedArgs : CommonArgs {
  std::int64_t row_src_stride = 0;  ///< bytes between units of a source row
};

/// A record and the cell that it lies in, for kernels whose units are records: dst_unit is its bytes.
struct RecordShape {
  std::int32_t bytes = 0;
  std::int32_t cell_bytes = 0;  ///< in src
  std::int32_t unit_bytes = 0;  ///< of the canonical units that a record is made of
  bool reversed = false;        ///< they run downwards in src
};

/// True when `bytes` divides the address and every stride of a nest in dst.
inline bool dst_divides(const std::uint8_t* dst, const Nest& nest, std::uint64_t bytes) noexcept {
  std::uint64_t all = reinterpret_cast<std::uintptr_t>(dst);
  for (const layout::CopyMode& m : nest) all |= static_cast<std::uint64_t>(m.dst_stride);
  return all % bytes == 0;
}

}  // namespace restride::cpu
