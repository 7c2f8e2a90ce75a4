// What a kernel does to one piece of a copy, access by access: what drawings are made of, and what the tests replay.
// The engines fill it from their own index maps (cuda/trace.h, cpu/trace.h); nothing of it is on the way of a copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace restride::plan {

/// Where bytes lie: in the source, in between (a GPU's shared memory, a buffer on the stack), in the destination.
enum class Space : std::uint8_t { kSrc, kStage, kDst };

/// A load or a store of one thread.
struct Access {
  Space space = Space::kSrc;
  bool store = false;
  std::int32_t step = 0;    ///< on a GPU, the accesses of a warp with one step, space and direction are one instruction
  std::int32_t thread = 0;  ///< of the piece; kEngine: the copy engine. On the CPU the run of src that it belongs to
  std::int64_t at = 0;      ///< byte, from the tensor's data pointer or in the stage
  std::int32_t bytes = 0;
};

/// The thread of what a bulk copy brings.
inline constexpr std::int32_t kEngine = -1;

/// The way of one unit: where it was loaded, where it waited, where it was stored, by whom.
struct UnitWay {
  std::int64_t src = 0, dst = 0;
  std::int64_t stage = -1;  ///< from where the storing thread took it; -1: it was in registers
  std::int32_t loader = 0, storer = 0;
};

/// Of a piece of more units than these, the first are told.
inline constexpr std::int64_t kTraceUnits = std::int64_t{1} << 17;

class Trace {
 public:
  std::string_view piece_is = "tile";  ///< what a piece is called
  std::int64_t piece = 0;              ///< its number
  std::int64_t pieces = 1;             ///< of the copy
  std::int64_t blocks = 1;             ///< launched on a GPU: block b moves pieces b, b + blocks ...
  std::int32_t threads = 1;            ///< of a piece
  std::string load_is;   ///< on a GPU, why threads load other words than the tile's own, or none; mostly empty
  std::string stage_is;  ///< on a GPU, how the stage keeps lanes out of each other's banks; empty where not told
  std::vector<Access> plain_reads;  ///< the loads from the stage as they would be without that; may be empty
  std::int32_t src_unit = 1, dst_unit = 1;
  std::int64_t units_of_piece = 0;  ///< more than `units` where not all are told
  std::vector<Access> accesses;
  std::vector<UnitWay> units;
  /// On the CPU, bytes of the vectors by which dst is stored, but for ends; 0 where that is not told.
  std::int32_t vector_bytes = 0;
  bool past_caches = false;         ///< whole lines of dst are written past the caches
  std::vector<std::int64_t> ahead;  ///< lines of src that are prefetched while the piece is moved, in that order
  std::string ahead_is;             ///< what they are, and where they go; empty where the kernel prefetches nothing

  /// A load into registers.
  void load(std::int32_t step, std::int32_t thread, std::int64_t src, std::int64_t bytes) {
    accesses.push_back({Space::kSrc, false, step, thread, src, static_cast<std::int32_t>(bytes)});
  }
  /// A load of what then lies in the stage from `stage` on.
  void load_staged(std::int32_t step, std::int32_t thread, std::int64_t src, std::int64_t bytes, std::int64_t stage) {
    load(step, thread, src, bytes);
    put(step, thread, stage, bytes, src, thread);
  }
  /// A store of `bytes` into the stage, which were in src from `src` on and loaded by `loader`.
  void put(std::int32_t step, std::int32_t thread, std::int64_t stage, std::int64_t bytes, std::int64_t src,
           std::int32_t loader) {
    accesses.push_back({Space::kStage, true, step, thread, stage, static_cast<std::int32_t>(bytes)});
    remember(stage, bytes, src, loader);
  }
  /// What lies in the stage, without an access of its own: a store of several pieces tells each.
  void remember(std::int64_t stage, std::int64_t bytes, std::int64_t src, std::int32_t loader) {
    if (const auto end = static_cast<std::size_t>(stage + bytes); end > stage_.size()) stage_.resize(end);
    for (std::int64_t b = 0; b < bytes; ++b) stage_[static_cast<std::size_t>(stage + b)] = {src + b, loader, true};
  }
  /// A load from the stage.
  void take(std::int32_t step, std::int32_t thread, std::int64_t stage, std::int64_t bytes) {
    accesses.push_back({Space::kStage, false, step, thread, stage, static_cast<std::int32_t>(bytes)});
  }
  /// The same load where nothing keeps lanes apart.
  void take_plain(std::int32_t step, std::int32_t thread, std::int64_t stage, std::int64_t bytes) {
    plain_reads.push_back({Space::kStage, false, step, thread, stage, static_cast<std::int32_t>(bytes)});
  }
  /// A store into dst.
  void store(std::int32_t step, std::int32_t thread, std::int64_t dst, std::int64_t bytes) {
    accesses.push_back({Space::kDst, true, step, thread, dst, static_cast<std::int32_t>(bytes)});
  }
  /// A unit that went from `src` to `dst` through registers of one thread.
  void unit(std::int32_t thread, std::int64_t dst, std::int64_t src) {
    units.push_back({src, dst, -1, thread, thread});
  }
  /// A unit that the storing thread found in the stage.
  void unit_staged(std::int32_t thread, std::int64_t dst, std::int64_t stage) {
    const Staged& s = staged(stage);
    units.push_back({s.src, dst, stage, s.loader, thread});
  }
  /// Where a byte of the stage came from; -1 where nothing was put.
  std::int64_t source_of(std::int64_t stage) const { return staged(stage).src; }
  std::int32_t loader_of(std::int64_t stage) const { return staged(stage).loader; }
  /// Bytes of the stage that were ever used.
  std::int64_t stage_bytes() const { return static_cast<std::int64_t>(stage_.size()); }
  bool full() const { return static_cast<std::int64_t>(units.size()) >= kTraceUnits; }

 private:
  struct Staged {
    std::int64_t src = -1;
    std::int32_t loader = 0;
    bool there = false;
  };
  const Staged& staged(std::int64_t stage) const {
    static constexpr Staged kNothing;
    return stage >= 0 && stage < stage_bytes() ? stage_[static_cast<std::size_t>(stage)] : kNothing;
  }

  std::vector<Staged> stage_;
};

}  // namespace restride::plan
