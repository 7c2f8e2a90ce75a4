// copy and Plan: the two calls this library exists for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <restride/detail/visibility.hpp>
#include <restride/layout.hpp>

namespace restride RESTRIDE_PUBLIC {

/// A destination: memory and where its elements lie in it.
struct Tensor {
  void* data = nullptr;
  Layout layout;
};

/// A source. A Tensor converts to one.
struct ConstTensor {
  const void* data = nullptr;
  Layout layout;
  ConstTensor() = default;
  ConstTensor(const void* d, const Layout& l) : data(d), layout(l) {}
  ConstTensor(const Tensor& t) : data(t.data), layout(t.layout) {}  // NOLINT: implicit on purpose
};

class Measurements;

/// Where memory lies and kernels run. `kAuto` finds it from the pointers: device memory on a side, or managed memory
/// on both, means that GPU; all else means the CPU, and so does a Plan, which is made without pointers.
/// `kCuda` also takes pinned host memory, which a GPU reaches over the bus.
enum class DeviceKind : std::uint8_t { kAuto, kCpu, kCuda };
std::string_view name(DeviceKind device) noexcept;

/// Values of Options::cuda_device that are no device's number.
inline constexpr int kCurrentDevice = -1;  ///< the calling thread's current device
/// A model of an H200: plans without a GPU, to explain, compare and serialise. Running such a plan fails.
inline constexpr int kModelDevice = -2;

/// A thread pool of the caller's: `parallel(context, tasks, body, body_arg)` calls `body(body_arg, i)` once
/// for every i in [0, tasks), on any threads, and returns when all are done. It must not throw. Where several
/// threads copy with one executor, `parallel` is called by all of them at once. Tasks claim pieces of the copy until
/// none is left: a task that the pool begins late finds nothing to do. A task needs 512 KiB of stack.
/// Without a `parallel` the calling thread does all. Example: examples/own_pool.cc
struct Executor {
  void (*parallel)(void* context, int tasks, void (*body)(void* body_arg, int task), void* body_arg) = nullptr;
  void* context = nullptr;
  int threads = 1;  ///< how many tasks it runs side by side; more than 4096 are never asked for
};

/// What a copy on the CPU asks of the system before it writes to a destination that has no pages yet, such as memory
/// fresh from malloc. It asks for whole pages inside the tensor only, and for none inside gaps as long as a page. A
/// refusal by the system changes nothing. From 4 MiB on a copy finds out by itself that it writes to such memory, by
/// the page of the middle element (a microsecond), and takes its pages all at once, which is faster than one by one;
/// `run_many` does not look.
/// Plans for fresh memory leave more of it in the caches, where the kernel has just zeroed it.
enum class FreshDestination : std::uint8_t {
  kOff,      ///< nothing more than that
  kAdvise,   ///< huge pages where the system has some (MADV_HUGEPAGE)
  kPrefault  ///< the same, and all pages before the copy, whatever its size and whether they are there or not
};

/// When a copy's result will be read. Results up to some size are left in the caches, larger ones are written to memory
/// at once, which is faster but makes the first look slower; this sets the size. CPU only; the result is the same.
enum class ResultUse : std::uint8_t {
  kUnknown,  ///< a quarter of the cache that a thread may use
  kSoon,     ///< it is read at once: half of that cache
  kLater     ///< it is read later: only results too small to matter
};

/// How to plan and to run; the default is right for almost everybody.
struct Options {
  DeviceKind device = DeviceKind::kAuto;
  int cuda_device = kCurrentDevice;  ///< for a Plan made without pointers; `copy` takes the pointers' device
  /// CPU: 0 takes RESTRIDE_NUM_THREADS (read once; 1 to 4096, anything else is ignored), then the cores this process
  /// may use, no more than its container's CPU quota (cgroups, read once) grants; never more than pay; one inside a
  /// parallel region of OpenMP's.
  int threads = 0;
  const Executor* executor = nullptr;  ///< CPU: run on the caller's pool instead of ours; must outlive the run
  void* stream = nullptr;              ///< CUDA: a cudaStream_t; null is the legacy default stream
  /// Force a family ("tile"), or one of its kernels ("tile/aligned"), by name, for tests and measurements.
  /// Errors: ArgumentError when it does not apply.
  std::string_view family = {};
  bool measure = false;  ///< time the candidates once and keep the best (allocates scratch, synchronises; opt-in)
  Measurements* measurements = nullptr;  ///< plan by these records; with `measure`, add to them (measurements.hpp)
  /// Pair elements in C order where the shapes differ, as a reshape of either side would. Without it other shapes are
  /// refused, because a forgotten permute looks the same. Leading modes of extent 1 make no difference.
  bool reshape = false;
  FreshDestination fresh_destination = FreshDestination::kOff;
  ResultUse result = ResultUse::kUnknown;
};

/// Copies every element of `src` to the element of `dst` at the same place.
///
/// Shape: equal, leading modes of extent 1 aside; a source is repeated by `broadcast_to`, never by itself. With
/// `options.reshape` only the element counts must agree, and elements pair in C order.
/// Strides: bytes, any sign on both sides; zero only in `src`. Pointers need no alignment; without elements they may
/// be anything.
/// Memory: of dst only the elements are written; of src nothing before the first or behind the last is read, but bytes
/// that lie between elements less than 64 bytes apart may be; on a GPU also those next to an element, within 64 bytes.
/// Alias: dst may not overlap src (the identical view is a no-op) and may not write an element twice.
/// Cast: when the elements differ they are converted as docs/casts.md says; equal elements, and integers of one width,
/// move bits untouched.
/// Stream: on CUDA the copy is ordered on `options.stream` and does not synchronise; on the CPU it is done on return.
/// Device: the one the memory lies on; it is current only during the call. The stream must be that device's.
/// Errors: ShapeError, OverlapError, CastError, ArgumentError, RangeError, DeviceError -- before a byte is written.
/// Threads: any number of threads may copy at once, from and to any memory that no other of them writes; options and
/// an executor may be shared. The caches behind it are one for all, and lock only where a copy is new to its thread.
/// Stack: a copy on the CPU needs 512 KiB of the calling thread's; mind it in threads and fibers with small ones.
/// Threads: helpers of the process's own, with 1 MiB of stack each, started by the first copy that pays for them,
/// asleep between copies, ended with the process. A copy waits for no helper that has not begun, and where none can be
/// started the calling thread does all. Cost: one read and one write of every byte, plus a cache look-up of about 50
/// ns; the first call of a kind plans. Example: examples/quickstart.cc Source: the cpy/contiguous kernels of ggml
/// (sizes and byte strides on both sides), generalised.
void copy(const Tensor& dst, const ConstTensor& src, const Options& options = {});

/// A decision, made once: how elements of one layout get into another. Immutable; run it from any thread. A default
/// constructed one, or one that was moved from, is empty, so that it can be a member that is assigned later.
///
/// A plan fits any data pointers at least as aligned as promised to it. The default promise is nothing on the CPU,
/// and on CUDA the element's own alignment: the largest power of two up to 16 that divides its size.
/// Cost: making one takes microseconds; running one adds tens of nanoseconds to the copy.
class Plan {
 public:
  /// An empty plan. All but assigning to it, destroying it and `bool` throws ArgumentError.
  Plan() noexcept = default;
  explicit operator bool() const noexcept { return impl_ != nullptr; }  ///< false when empty

  /// Errors: as `copy`, except overlap of src and dst, which is a matter of pointers: see `run`.
  /// `dst_align`, `src_align`: powers of two in bytes that divide the data pointers to come.
  /// The plan keeps `options.executor` and `options.stream` for runs without options; both must outlive those.
  Plan(const Layout& dst, const Layout& src, const Options& options = {}, std::int64_t dst_align = 0,
       std::int64_t src_align = 0);

  /// Runs on memory, on the executor or CUDA stream that the plan was made with.
  /// Never throws unless the plan is empty, allocates (but to start threads), prints, synchronises or clears another's
  /// CUDA error. The caller does the checks of `copy`: alignment as promised, no overlap of dst and src. Device: on
  /// CUDA the plan's, which is current only during the call; the stream must be one of it. Stack: on the CPU a run
  /// needs 512 KiB of the calling thread's. Returns 0, or the cudaError_t of the launch.
  int run(void* dst, const void* src) const;
  /// The same on the stream or pool of `options`, with its threads (0: RESTRIDE_NUM_THREADS, then all cores that pay).
  int run(void* dst, const void* src, const Options& options) const;

  /// Runs on many pairs of memory: dst[i] from src[i]. The two arrays lie on the host and are read before the call
  /// returns; nothing is allocated. On the CPU one team shares all pairs. On CUDA a launch takes 200 to 8,000, or one,
  /// by kernel (docs/cuda.md); a graph may capture it. Alias: no dst may overlap another pair's dst or any src. Returns
  /// 0, or the cudaError_t of the first launch that failed; those before it have been made. Errors: ArgumentError,
  /// before a byte is written: the arrays differ in length, or a pointer of a plan that moves something is null or less
  /// aligned than promised. Else as `run`. Example: `plan.run_many(outputs, inputs);` with two std::vector of pointers
  int run_many(std::span<void* const> dst, std::span<const void* const> src) const;
  int run_many(std::span<void* const> dst, std::span<const void* const> src, const Options& options) const;

  Layout dst() const;
  Layout src() const;
  std::string_view family() const;  ///< of kernels, the one that was chosen: "tile"
  std::string_view kernel() const;  ///< of the family: "tile/aligned"
  DeviceKind device() const;
  int cuda_device() const;  ///< the GPU's number; kModelDevice for a model; -1 on the CPU
  int threads() const;

  /// Canonical form, choice, parameters, predicted bytes, sectors and time, and why others lost.
  std::string explain() const;
  /// One JSON object; `deserialize` makes the same plan from it, without executor and stream.
  /// Errors of `deserialize`: ParseError when the text is no plan or has more than 1 MiB, or its layouts, family,
  /// alignments and parameters do not fit each other, or, for a GPU, when its planner does not offer them (other GPUs'
  /// may); ShapeError, OverlapError, CastError when its layouts cannot be copied; DeviceError when it is for a GPU and
  /// there is none.
  std::string serialize() const;
  static Plan deserialize(std::string_view json);

  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  /// The state behind all of the above. Errors: ArgumentError when the plan is empty.
  const Impl& impl() const {
    if (impl_ == nullptr) throw_empty();
    return *impl_;
  }

 private:
  [[noreturn]] static void throw_empty();
  std::shared_ptr<const Impl> impl_;
};

/// The version of the library, "0.1.0".
std::string_view version() noexcept;

}  // namespace restride
