// The registry of the CPU's kernels: one row each. What one of them is for, its bid, its arguments, its code and what
// was measured lie in its family's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "src/cpu/bid.h"
#include "src/cpu/buffered/args.h"
#include "src/cpu/channels/args.h"
#include "src/cpu/gather/args.h"
#include "src/cpu/packed/args.h"
#include "src/cpu/rows/args.h"
#include "src/cpu/run/args.h"
#include "src/cpu/tile/args.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cpu {

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
  /// Moves tasks [begin, end); see KernelCode. Bases are the canonical ones, shifted by common().
  void run(std::byte* dst, const std::byte* src, std::int64_t begin, std::int64_t end) const noexcept {
    run_(common(), dst, src, begin, end);
  }

 private:
  /// The same in every copy of this object, because a variant holds its value in itself.
  std::ptrdiff_t distance_to(const CommonArgs& common) const noexcept {
    return reinterpret_cast<const std::byte*>(&common) - reinterpret_cast<const std::byte*>(this);
  }

  std::variant<RunArgs, RowsArgs, TileArgs, MatrixArgs, PackedArgs, BufferedArgs, ChannelsArgs, GatherArgs> of_;
  std::ptrdiff_t common_at_;
  KernelCode<CommonArgs> run_;
};
static_assert(sizeof(CpuArgs) <= 2048, "plans are kept by the hundred");

struct Kernel {
  plan::KernelName name;
  /// The bids of a family's kernels come from one function, which writes them side by side in the order of the rows.
  void (*bid)(const Question& q, Bid* bids);
  /// From the parameters of a decision. `threads` are to share the tasks: where the decision makes fewer, tiles are cut
  /// into more. Errors: ParseError when they do not fit the canonical form (a plan that was edited).
  CpuArgs (*prepare)(const layout::Canonical& c, const plan::Candidate& k, int threads);
};

inline constexpr std::size_t kKernelCount = 12;
extern const Kernel kKernels[kKernelCount];

/// The arguments for a decision, by its kernel's row. Errors: ParseError.
CpuArgs prepare_cpu(const layout::Canonical& c, const plan::Decision& d, int threads);

}  // namespace restride::cpu
