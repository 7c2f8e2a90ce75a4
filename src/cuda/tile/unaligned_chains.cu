// Moves         the copies of tile_chains, with rows that start anywhere: permutations of odd extents, single modes.
// Applies when  modes form a dense chain on each side, no mode is in both, units have 1 to 8 bytes.
// Thread map    load, 16 bytes a lane along lines of src; bytes: a patch of 4 rows by 12 bytes a lane, from rows of src
//               to rows of dst; store, 16 bytes a lane along dst's chain.
// Shared memory rows of src as they lie there, and of bytes then rows of dst in their place; tables of where rows lie;
//               see src/cuda/tile/unaligned_chains_map.h.
// Traffic       every byte once each way; windows also read the halo, 32 bytes a tile's row of dst, that L2 has from
//               the tile beside it, runs do not. Sectors of dst are written whole but at the ends of its chain.
// Source        tile/pixels and tile/chains in one; measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/shift.cuh"
#include "src/cuda/tile/pixels_map.h"
#include "src/cuda/tile/tile.h"
#include "src/cuda/tile/unaligned_chains_map.h"

namespace restride::cuda {
namespace {

/// The words of a line that a tile reads.
struct alignas(16) LineEntry {
  const char* from;  ///< the first of them
  std::uint32_t to;  ///< where in shared memory the line's first byte goes, which is in that word
  std::int32_t words;
};

/// A row of dst in the tile.
struct alignas(16) RowEntry {
  char* to;            ///< its first word; the first whole one of a run's row of bytes
  std::uint32_t at;    ///< bytes: the word's first byte in shared memory; other units: the table of where they are
  std::int32_t first;  ///< the word's first byte, counted from the chain's; of a run's row of bytes `run_row_bytes`
};

/// Everything that a block's steps want to know.
struct Here {
  TilePlace place;
  UnalignedWindow window;
  char* dst;         ///< unit 0 along dst's chain, row 0 of src's
  const char* from;  ///< line 0 of src, the tile's first unit of src's chain
  std::uint32_t rooms, starts;
  LineEntry* lines;
  RowEntry* rows;
  int s_count;
};

/// base + the low or the high half of `pair`, by one instruction.
__device__ inline std::uint32_t add_half(std::uint32_t base, std::uint32_t pair, bool high) {
  return __dp2a_lo(pair, high ? 0x0100u : 0x0001u, base);
}

/// Notes `bytes` of src from `first` on as a line; true where every word that covers it lies in the source.
__device__ inline bool put_line(const UnalignedChainArgs& c, const Here& h, const char* src, int line,
                                const char* first, int bytes, std::int32_t to) {
  const int low = nibble(first), words = (low + bytes + 15) / 16;
  h.lines[line] = {first - low, h.rooms + to, words};
  return first - low >= src + c.tile.src_first && first - low + words * 16 <= src + c.tile.src_last;
}

/// Notes where row `row` of src starts, counted from the rooms.
template <int kUnit>
__device__ inline void put_start(const UnalignedChainArgs& c, const Here& h, int row, std::int32_t start) {
  const int size = start_entries(c);
#pragma unroll
  for (int copy = 0; copy < start_copies(kUnit); ++copy)
    if (row >= copy)
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(h.starts + (copy * size + row - copy) * 2),
                   "h"(static_cast<std::uint16_t>(start))
                   : "memory");
}

/// True where every word that covers a line of this thread's lies in the source. Where a line is one row, its start is
/// noted too; elsewhere `fill_starts` does that.
template <int kUnit>
__device__ inline bool fill_lines(const UnalignedChainArgs& c, const Here& h, const char* src) {
  const auto line_at = [&](int line) {
    return h.from + chain_offset(c.src_lines, static_cast<std::uint32_t>(h.window.line + line));
  };
  const int s_bytes = h.s_count * kUnit;
  bool inside = true;
  if (c.line_rows.divisor > 1) {
#pragma unroll 1
    for (int line = threadIdx.x; line < h.window.lines; line += blockDim.x) {
      const char* const at = line_at(line);
      const UnalignedSpan span = unaligned_span(c, h.window, line, s_bytes);
      const std::int32_t to = unaligned_line_base(c, h.window, line) + nibble(at) + span.first;
      inside = put_line(c, h, src, line, at + span.first, span.last - span.first, to) && inside;
    }
    return inside;
  }
#pragma unroll 1
  for (int row = threadIdx.x; row < unaligned_rows(c); row += blockDim.x) {
    const UnalignedRow at = unaligned_row(c, h.window, h.place, row);
    std::int32_t start = 0;
    if (at.inside) {
      const char* const first = line_at(at.line);
      const std::int32_t to = unaligned_line_base(c, h.window, at.line) + nibble(first);
      if (at.behind == 0) inside = put_line(c, h, src, at.line, first, s_bytes, to) && inside;
      start = to + at.behind * kUnit;
    }
    put_start<kUnit>(c, h, row, start);
  }
  return inside;
}

__device__ inline void fill_runs(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int run = threadIdx.x; run < unaligned_runs(c, h.s_count); run += blockDim.x)
    h.rows[run].to = h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + run_row(c, run, 0)));
}

/// Rows of runs of bytes: where their first whole word lies.
__device__ inline void fill_run_rows(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int s = threadIdx.x; s < h.s_count; s += blockDim.x) {
    char* const row = h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + s));
    const int ahead = -nibble(row) & 15;
    h.rows[s] = {row + ahead, h.rooms + transposed_line(c, s) + ahead, run_row_bytes(c, h.s_count, s, ahead)};
  }
}

template <int kUnit>
__device__ inline void fill_rows(const UnalignedChainArgs& c, const Here& h) {
  const TileArgs& a = c.tile;
#pragma unroll 1
  for (int s = threadIdx.x; s < h.s_count; s += blockDim.x) {
    char* const row = h.dst + chain_offset(c.dst_rows, static_cast<std::uint32_t>(h.place.s + s));
    const int skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) & a.skew_mask);
    const int first = h.place.d * kUnit - skew, ahead = a.halo * kUnit - skew;
    std::uint32_t at = 0;
    if constexpr (kUnit == 1) {
      at = h.rooms + transposed_line(c, s) + ahead;
    } else {
      constexpr int kCopies = start_copies(kUnit);
      const int unit = ahead / kUnit, copy = unit % kCopies;
      at = h.starts + (copy * start_entries(c) + unit - copy) * 2;
    }
    h.rows[s] = {row + first, at, first};
  }
}

/// Words of all lines, on their way to shared memory. A thread has the same word of several lines; where lines have
/// more words than a block has threads, several words of each.
template <bool inside>
__device__ inline void load_lines(const UnalignedChainArgs& c, const Here& h, const char* src) {
  constexpr int kBatch = 4;  // lines whose entries a thread reads at once
  const int at_once = c.lines_at_once, last = h.window.lines - 1;
  const UnalignedLoad first = unaligned_load(c, static_cast<int>(threadIdx.x));
  const std::uint32_t entries = shared_address(h.lines);
  if (first.line >= at_once) return;
  const auto load = [&](const uint4& entry, int index, bool wanted) {
    const char* const from =
        reinterpret_cast<const char*>((static_cast<std::uint64_t>(entry.y) << 32 | entry.x) + index * 16);
    const std::uint32_t to = (entry.z & ~15u) + index * 16;
    if constexpr (inside)
      copy_word_if(wanted, to, from);
    else if (wanted)
      stage_word<true>(to, from, src + c.tile.src_first, src + c.tile.src_last);
  };
#pragma unroll 1
  for (int line = first.line; line <= last; line += kBatch * at_once) {
    uint4 entry[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) entry[i] = load_shared<16>(entries + min(line + i * at_once, last) * 16);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const bool here = line + i * at_once <= last;
      load(entry[i], first.word, here && first.word < static_cast<int>(entry[i].w));
      if (at_once > 1 || !here) continue;
#pragma unroll 1
      for (int more = first.word + static_cast<int>(blockDim.x); more < static_cast<int>(entry[i].w);
           more += blockDim.x)
        load(entry[i], more, true);
    }
  }
}

/// Where rows of src start that share lines.
template <int kUnit>
__device__ inline void fill_starts(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int row = threadIdx.x; row < unaligned_rows(c); row += blockDim.x) {
    const UnalignedRow at = unaligned_row(c, h.window, h.place, row);
    std::int32_t start = 0;
    if (at.inside)
      start = static_cast<std::int32_t>(h.lines[at.line].to - h.rooms) + at.row * c.row_bytes -
              unaligned_span(c, h.window, at.line, 0).first + at.behind * kUnit;
    put_start<kUnit>(c, h, row, start);
  }
}

/// 3 words from byte `at` of shared memory on.
__device__ inline void load_three(std::uint32_t at, std::uint32_t (&out)[3]) {
  const std::uint32_t from = at & ~3u,
                      bits = at << 3;  // a funnel shift counts modulo 32
  std::uint32_t low = load_shared<4>(from);
#pragma unroll
  for (int w = 0; w < 3; ++w) {
    const std::uint32_t high = load_shared<4>(from + 4 * w + 4);
    out[w] = __funnelshift_r(low, high, bits);
    low = high;
  }
}

/// Patches of bytes from rows of src to rows of dst in their place.
template <bool joined, int kPatches>
__device__ inline void transpose_patches(const UnalignedChainArgs& c, const Here& h) {
  const int items = unaligned_patches(c);
  const auto beyond = [&](const PatchPlace& at) { return !joined && h.place.d - c.tile.halo + at.d >= h.window.last; };
  std::uint32_t patches[kPatches][3][kPatchRows];
#pragma unroll
  for (int i = 0; i < kPatches; ++i) {
    const int item = static_cast<int>(threadIdx.x + i * blockDim.x);
    const PatchPlace at = patch_place(c, item);
    if (item >= items || beyond(at)) break;
    const uint2 starts = load_shared<8>(h.starts + at.d * 2);
    std::uint32_t in[kPatchRows][3];
#pragma unroll
    for (int j = 0; j < kPatchRows; ++j)
      load_three(add_half(h.rooms + at.s, j < 2 ? starts.x : starts.y, j % 2 != 0), in[j]);
#pragma unroll
    for (int w = 0; w < 3; ++w) {
      const std::uint32_t column[4] = {in[0][w], in[1][w], in[2][w], in[3][w]};
      transpose_words<1>(column, patches[i][w]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPatches; ++i) {
    const int item = static_cast<int>(threadIdx.x + i * blockDim.x);
    const PatchPlace at = patch_place(c, item);
    if (item >= items || beyond(at)) break;
    std::uint32_t row = h.rooms + transposed_line(c, at.s) + at.d;
#pragma unroll
    for (int w = 0; w < 3; ++w)
#pragma unroll
      for (int j = 0; j < 4; ++j, row += c.dst_pitch)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(row), "r"(patches[i][w][j]) : "memory");
  }
}

/// The 16 bytes from byte `at` of shared memory on.
__device__ inline uint4 load_shifted(std::uint32_t at) {
  const std::uint32_t from = at & ~15u;
  return shifted(load_shared<16>(from), load_shared<16>(from + 16), static_cast<int>(at & 15));
}

/// Word number `word` of row `s` of dst, of units wider than bytes.
template <int kUnit>
__device__ inline uint4 word_of(const Here& h, std::uint32_t at, int s, int word) {
  constexpr int kUnits = 16 / kUnit, kPairs = kUnits / 2;
  std::uint32_t pairs[kPairs];
  split<4, kPairs>(load_shared<kPairs * 4>(at + word * (kPairs * 4)), pairs);
  Bits<kUnit> units[kUnits];
#pragma unroll
  for (int j = 0; j < kUnits; ++j)
    units[j] = load_shared<kUnit>(add_half(h.rooms + s * kUnit, pairs[j / 2], j % 2 != 0));
  return join<kUnit, kUnits>(units);
}

/// Whole words of bytes, the same word of several rows a thread. `edge`: some of the tile's lie beyond dst's chain.
template <bool joined, bool edge>
__device__ inline void store_bytes(const UnalignedChainArgs& c, const Here& h) {
  const UnalignedStore first = unaligned_store(c, static_cast<int>(threadIdx.x));
  const int byte = first.word * 16;
  std::uint32_t entry = shared_address(h.rows) + first.row * 16;
  if (first.row >= c.store_rows) return;
#pragma unroll 2
  for (int s = first.row; s < h.s_count; s += c.store_rows, entry += c.store_rows * 16) {
    const uint4 row = load_shared<16>(entry);
    if (joined && byte >= static_cast<int>(row.w)) continue;
    const int at = byte + static_cast<int>(row.w);
    if (edge && (at < 0 || at + 16 > c.tile.d_extent)) continue;
    char* const to = reinterpret_cast<char*>(static_cast<std::uint64_t>(row.y) << 32 | row.x);
    store<16>(to + byte, load_shifted(row.z + byte));
  }
}

/// The ends of rows of bytes that lie in this tile and are less than words, a byte a lane.
__device__ inline void store_byte_ends(const UnalignedChainArgs& c, const Here& h, bool at_head, bool at_tail) {
  const int bytes = c.tile.d_extent, lane = static_cast<int>(threadIdx.x) % 16;
#pragma unroll 1
  for (int s = threadIdx.x / 16; s < h.s_count; s += blockDim.x / 16) {
    const RowEntry row = h.rows[s];
    const int low = nibble(row.to) - row.first, head = -low & 15, tail = bytes - (low + bytes & 15);
    const auto put = [&](int byte, int end) {
      const int behind = byte - row.first;
      if (byte < end && behind >= 0 && behind < c.tile.tile_d)
        store<1>(row.to + behind, load_shared<1>(row.at + behind));
    };
    if (at_head) put(lane, min(head, bytes));
    if (at_tail && tail >= head) put(tail + lane, bytes);
  }
}

/// The ends of runs of bytes that are less than words, a byte a lane.
__device__ inline void store_run_ends(const UnalignedChainArgs& c, const Here& h) {
#pragma unroll 1
  for (int item = threadIdx.x; item < unaligned_runs(c, h.s_count) * 32; item += blockDim.x) {
    const int run = item / 32, s = run_row(c, run, 0);
    const int ahead = static_cast<int>(h.rows[s].at - (h.rooms + transposed_line(c, s)));
    char* const begin = h.rows[s].to - ahead;
    const int bytes = unaligned_run_rows(c, h.s_count, run) * c.tile.d_extent;
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(begin), bytes);
    const bool at_tail = item % 32 >= 16;
    const int byte = item % 16 + (at_tail ? static_cast<int>(ends.tail) : 0);
    if (byte >= (at_tail ? bytes : static_cast<int>(ends.head))) continue;
    const RunPlace at = run_place(c, byte);
    store<1>(begin + byte, load_shared<1>(h.rooms + transposed_line(c, run_row(c, run, at.s)) + at.d));
  }
}

/// Whole words of wider units. `edge`: some of the tile's lie beyond dst's chain.
template <int kUnit, bool edge>
__device__ inline void store_rows(const UnalignedChainArgs& c, const Here& h) {
  const int row_bytes = c.tile.d_extent * kUnit, words = static_cast<int>(c.store_words.divisor);
  const int items = h.s_count * words;
#pragma unroll 2
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const auto s = static_cast<int>(c.store_words.quotient(item));
    const int word = item - s * words;
    const RowEntry row = h.rows[s];
    const int byte = row.first + word * 16;
    if (edge && (byte < 0 || byte + 16 > row_bytes)) continue;
    store<16>(row.to + word * 16, word_of<kUnit>(h, row.at, s, word));
  }
}

/// The ends of rows of dst that lie in this tile and are less than words, a unit a lane.
template <int kUnit>
__device__ inline void store_ends(const UnalignedChainArgs& c, const Here& h, bool at_tail) {
  constexpr int kLanes = 16 / kUnit;  // of an end
  const TileArgs& a = c.tile;
  const int row_bytes = a.d_extent * kUnit, lane = static_cast<int>(threadIdx.x) % kLanes * kUnit;
#pragma unroll 1
  for (int s = threadIdx.x / kLanes; s < h.s_count; s += blockDim.x / kLanes) {
    const RowEntry row = h.rows[s];
    char* const begin = row.to - row.first;
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(begin), row_bytes);
    const int tail = static_cast<int>(ends.tail), byte = at_tail ? tail + lane : lane;
    const bool mine = at_tail ? tail >= row.first && tail < row.first + a.tile_d * kUnit : true;
    if (!mine || byte >= (at_tail ? row_bytes : static_cast<int>(ends.head))) continue;
    const int ahead = byte + (a.halo - h.place.d) * kUnit;
    const std::uint32_t at = h.rooms + load_shared<2>(h.starts + ahead / kUnit * 2) + s * kUnit;
    store<kUnit>(begin + byte, load_shared<kUnit>(at));
  }
}

/// For word_of: the table of where the units of a word lie that begins at unit `d` of a row of dst.
template <int kUnit>
__device__ inline std::uint32_t found_at(const UnalignedChainArgs& c, const Here& h, int d) {
  const int copy = d % start_copies(kUnit);
  return h.starts + (copy * start_entries(c) + d - copy) * 2;
}

/// Rows of wider units that follow each other in dst, as runs: words go on from one row to the next.
template <int kUnit>
__device__ inline void store_runs(const UnalignedChainArgs& c, const Here& h) {
  const int words = static_cast<int>(c.store_words.divisor), runs = unaligned_runs(c, h.s_count);
  const int row_bytes = c.tile.d_extent * kUnit, items = runs * words;
#pragma unroll 2
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const auto run = static_cast<int>(c.store_words.quotient(item));
    char* const to = h.rows[run].to;
    const int byte = (item - run * words) * 16 + (-nibble(to) & 15);
    if (byte + 16 > unaligned_run_rows(c, h.s_count, run) * row_bytes) continue;
    const RunPlace at = run_place(c, byte / kUnit);
    const int s = run_row(c, run, at.s);
    store<16>(to + byte, word_of<kUnit>(h, found_at<kUnit>(c, h, at.d), s, 0));
  }
  // The ends of runs that are less than words, a unit a lane.
  constexpr int kLanes = 16 / kUnit;  // of an end
#pragma unroll 1
  for (int item = threadIdx.x; item < runs * 2 * kLanes; item += blockDim.x) {
    const int run = item / (2 * kLanes);
    char* const to = h.rows[run].to;
    const int bytes = unaligned_run_rows(c, h.s_count, run) * row_bytes;
    const PixelEnds ends = pixel_ends(reinterpret_cast<std::intptr_t>(to), bytes);
    const bool at_tail = item % (2 * kLanes) >= kLanes;
    const int byte = (at_tail ? static_cast<int>(ends.tail) : 0) + item % kLanes * kUnit;
    if (byte >= (at_tail ? bytes : static_cast<int>(ends.head))) continue;
    const RunPlace at = run_place(c, byte / kUnit);
    const int s = run_row(c, run, at.s);
    const std::uint32_t from = h.rooms + load_shared<2>(h.starts + at.d * 2) + s * kUnit;
    store<kUnit>(to + byte, load_shared<kUnit>(from));
  }
}

template <int kUnit, bool joined, int kPatches>
__global__ void __launch_bounds__(kMostUnalignedThreads,
                                  resident_blocks(kMostUnalignedThreads, unaligned_blocks(kUnit, kPatches)))
    tile_unaligned_chains_kernel(const __grid_constant__ UnalignedChainArgs c, char* dst, const char* src) {
  extern __shared__ __align__(128) char shared[];
  const TileArgs& a = c.tile;
  const UnalignedTables tables = unaligned_tables(c, kUnit);
  Here h;
  h.place = tile_place(a, blockIdx.x);
  h.window = unaligned_window(c, h.place);
  const Offsets batch = offsets(a.batch, h.place.batch);
  h.dst = dst + a.dst_offset + batch.dst;
  h.from = src + a.src_offset + batch.src + static_cast<std::int64_t>(h.place.s) * kUnit;
  h.rooms = shared_address(shared);
  h.starts = h.rooms + tables.starts;
  h.lines = reinterpret_cast<LineEntry*>(shared + tables.lines);
  h.rows = reinterpret_cast<RowEntry*>(shared + tables.rows);
  h.s_count = min(a.tile_s, a.s_extent - h.place.s);
  if (__syncthreads_and(fill_lines<kUnit>(c, h, src)))
    load_lines<true>(c, h, src);
  else
    load_lines<false>(c, h, src);
  if (c.line_rows.divisor > 1) fill_starts<kUnit>(c, h);
  if constexpr (!joined)
    fill_rows<kUnit>(c, h);
  else if constexpr (kUnit == 1)
    fill_run_rows(c, h);
  else
    fill_runs(c, h);
  wait_copies();
  __syncthreads();
  const bool head = h.place.d == 0, tail = h.place.d + a.tile_d + a.halo >= a.d_extent;
  if constexpr (kUnit == 1) {
    transpose_patches<joined, kPatches>(c, h);
    __syncthreads();
    if constexpr (joined) {
      store_bytes<true, false>(c, h);
      return store_run_ends(c, h);
    }
    if (!head && !tail) return store_bytes<false, false>(c, h);
    store_bytes<false, true>(c, h);
    store_byte_ends(c, h, head, tail);
  } else {
    if constexpr (joined) return store_runs<kUnit>(c, h);
    if (!head && !tail) return store_rows<kUnit, false>(c, h);
    store_rows<kUnit, true>(c, h);
    if (head) store_ends<kUnit>(c, h, false);
    if (tail) store_ends<kUnit>(c, h, true);
  }
}

}  // namespace

int launch_tile_unaligned_chains(const CudaArgs& args, const Launch& on) noexcept {
  const auto& c = std::get<UnalignedChainArgs>(args.args);
  return with_size<1, 2, 4, 8>(args.units.dst, [&]<int kUnit>() {
    auto kernel = c.run_rows != 0 ? tile_unaligned_chains_kernel<kUnit, true, kFewPatches>
                                  : tile_unaligned_chains_kernel<kUnit, false, kFewPatches>;
    if constexpr (kUnit == 1)
      if (unaligned_patches(c) > kFewPatches * c.threads) kernel = tile_unaligned_chains_kernel<1, true, kMostPatches>;
    return enqueue(kernel, c, on, c.tile.tiles, static_cast<unsigned>(c.threads),
                   static_cast<unsigned>(unaligned_tables(c, kUnit).end));
  });
}

}  // namespace restride::cuda
