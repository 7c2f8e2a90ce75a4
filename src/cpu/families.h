// The registry of the CPU's kernels: one row each. What one of them is for, its bid, its arguments, its code and what
// was measured lie in its family's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/cpu/bid.h"
#include "src/cpu/buffered/prepare.h"
#include "src/cpu/cached_costs.h"
#include "src/cpu/channels/prepare.h"
#include "src/cpu/gather/prepare.h"
#include "src/cpu/packed/prepare.h"
#include "src/cpu/rows/prepare.h"
#include "src/cpu/run/prepare.h"
#include "src/cpu/tile/prepare.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cpu {

// X(family, name, bid, prepare, lines, starts, units, blocks): a row each. Of bids that take the same time, the first
// wins. The bids of a family's kernels come from one function, which writes them side by side in the order of the rows.
// The last four are InCaches (cached_costs.h).
#define RESTRIDE_CPU_KERNELS(X)                                                              \
  X(kRun, "run/units", bid_run, prepare_run_units, 0.1, 1, 1, false)                         \
  X(kRun, "run/pieces", bid_run, prepare_run_pieces, 0.1, 1, 1, false)                       \
  X(kRows, "rows/units", bid_rows, prepare_rows_units, 0.107, 0.82, 0.4, false)              \
  X(kRows, "rows/records", bid_rows, prepare_rows_records, 0.194, 1.37, 0.02, true)          \
  X(kPacked, "packed/staged", bid_packed, prepare_packed, 0.46, 0.04, 0.43, false)           \
  X(kTile, "tile/units", bid_tile, prepare_tile_units, 0.53, 0.11, 1, false)                 \
  X(kTile, "tile/records", bid_tile, prepare_tile_records, 0.56, 0.11, 0.46, true)           \
  X(kTile, "tile/matrices", bid_tile, prepare_tile_matrices, 0.3, 0.97, 0.56, true)          \
  X(kBuffered, "buffered/blocks", bid_buffered, prepare_buffered, 0.103, 0, 0.77, true)      \
  X(kChannels, "channels/split", bid_channels, prepare_channels_split, 0, 0.6, 0.68, true)   \
  X(kChannels, "channels/join", bid_channels, prepare_channels_join, 0.43, 0.53, 0.65, true) \
  X(kGather, "gather/units", bid_gather, prepare_gather, 0.1, 1.27, 0.5, false)

/// The variant of the types that follow it, each once.
template <class Variant, class... Args>
struct VariantOf : std::type_identity<Variant> {};
template <class... Held, class Next, class... Args>
struct VariantOf<std::variant<Held...>, Next, Args...>
    : std::conditional_t<(std::is_same_v<Next, Held> || ...), VariantOf<std::variant<Held...>, Args...>,
                         VariantOf<std::variant<Held..., Next>, Args...>> {};

/// What a plan holds: the arguments of its kernel, its code among them. A small copy takes as long as the way to its
/// code, so what a run needs is found without a look at which family's they are.
class CpuArgs {
 public:
  CpuArgs() : CpuArgs(RunArgs{}) {}
  template <class Args>
  explicit CpuArgs(const Args& args)
      : of_(args),
        common_at_(distance_to(std::get<Args>(of_))),
        run_([](const CommonArgs& common, std::byte* dst, const std::byte* src, std::int64_t begin,
                std::int64_t end) noexcept {
          const auto& a = static_cast<const Args&>(common);
          a.kernel(a, dst, src, begin, end);
        }) {}

  const CommonArgs& common() const noexcept {
    return *reinterpret_cast<const CommonArgs*>(reinterpret_cast<const std::byte*>(this) + common_at_);
  }
  /// The arguments, where they are of this family; else null.
  template <class Args>
  const Args* of() const noexcept {
    return std::get_if<Args>(&of_);
  }
  /// What `of` makes of the arguments, whichever family's they are.
  template <class Of>
  void visit(const Of& of) const {
    std::visit(of, of_);
  }
  /// Moves tasks [begin, end); see KernelCode. Bases are the canonical ones, shifted by common().
  void run(std::byte* dst, const std::byte* src, std::int64_t begin, std::int64_t end) const noexcept {
    run_(common(), dst, src, begin, end);
  }

 private:
  /// The same in every copy of this object, because a variant holds its value in itself.
  std::ptrdiff_t distance_to(const CommonArgs& common) const noexcept {
    return reinterpret_cast<const std::byte*>(&common) - reinterpret_cast<const std::byte*>(this);
  }

#define RESTRIDE_X(family, name, bid, prepare, ...) \
  , decltype(prepare(std::declval<const layout::Canonical&>(), std::declval<const plan::Candidate&>(), 1))
  VariantOf<std::variant<> RESTRIDE_CPU_KERNELS(RESTRIDE_X)>::type of_;
#undef RESTRIDE_X
  std::ptrdiff_t common_at_;
  KernelCode<CommonArgs> run_;
};
static_assert(sizeof(CpuArgs) <= 2048, "plans are kept by the hundred");

struct Kernel {
  plan::KernelName name;
  void (*bid)(const Question& q, Bid* bids);
  /// From the parameters of a decision. `threads` are to share the tasks: where the decision makes fewer, tiles are cut
  /// into more. Errors: ParseError when they do not fit the canonical form (a plan that was edited).
  CpuArgs (*prepare)(const layout::Canonical& c, const plan::Candidate& k, int threads);
  InCaches in_caches;
};

inline constexpr std::size_t kKernelCount = 0
#define RESTRIDE_X(family, name, bid, prepare, ...) +1
    RESTRIDE_CPU_KERNELS(RESTRIDE_X)
#undef RESTRIDE_X
    ;
extern const Kernel kKernels[kKernelCount];

/// The arguments for a decision, by its kernel's row. Errors: ParseError.
CpuArgs prepare_cpu(const layout::Canonical& c, const plan::Decision& d, int threads);

}  // namespace restride::cpu
