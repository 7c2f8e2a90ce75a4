// What every operator here has in common: which copies restride takes, how it makes them, what is counted.
#pragma once

#include <ATen/core/Tensor.h>
#include <restride/restride.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace restride_torch {

// The operators, by torch's names.
#define RESTRIDE_TORCH_OPERATORS(X) \
  X(kCopy, "copy_")                 \
  X(kCat, "cat")                    \
  X(kFlip, "flip")                  \
  X(kRoll, "roll")                  \
  X(kPixelShuffle, "pixel_shuffle") \
  X(kPixelUnshuffle, "pixel_unshuffle")

enum class Operator {
#define RESTRIDE_TORCH_ENUM(id, name) id,
  RESTRIDE_TORCH_OPERATORS(RESTRIDE_TORCH_ENUM)
#undef RESTRIDE_TORCH_ENUM
};
inline constexpr const char* kNames[] = {
#define RESTRIDE_TORCH_NAME(id, name) name,
    RESTRIDE_TORCH_OPERATORS(RESTRIDE_TORCH_NAME)
#undef RESTRIDE_TORCH_NAME
};
inline constexpr int kOperators = static_cast<int>(std::size(kNames));

/// Results of fewer bytes are left to torch: what enable() was told.
extern std::atomic<std::int64_t> min_bytes;

// ---- which copies restride takes

/// The restride dtype of a torch dtype; -1 for those that it moves and does not convert.
int dtype_of(at::ScalarType t) noexcept;

/// Casts whose result is the same in both. Torch wraps floats that become integers and restride saturates; torch rounds
/// f64 and wide integers to half floats twice and restride once; both keep NaNs NaN, of f32 to halves with other
/// payloads.
bool same_cast(at::ScalarType to, at::ScalarType from) noexcept;

/// Whether a tensor is memory with strides, and nothing is done to its elements on the way (conjugation, negation).
bool is_memory(const at::Tensor& t);

/// Whether memory of at least so many bytes, written as a whole, has no pages yet, as malloc gives it: asked of the
/// kernel at a few places. Such memory is cheaper in huge pages, and all of it at once. Cost where it has pages: a
/// system call, a microsecond and more in a virtual machine.
bool is_fresh(const at::Tensor& dst, std::int64_t least_bytes);
inline constexpr std::int64_t kLeastFresh = 256 << 10;  ///< of a copy that is faster anyway
/// Of a copy that torch makes as fast: below, new memory gains 10 % at most, and asking costs some where it is not new.
inline constexpr std::int64_t kLeastFreshAlone = 4 << 20;
/// On GPUs so many times min_bytes and more are taken.
inline constexpr std::int64_t kLaunchesHide = 16;

// ---- the copy

/// Memory of one side of a copy and how it is walked, outermost axis first.
class Side {
 public:
  static constexpr int kMostAxes = 64;

  /// Without axes, at the tensor's first element.
  Side(void* data, at::ScalarType type) noexcept;
  /// All of a tensor. Errors of its data pointer are torch's.
  static Side written(const at::Tensor& t);
  static Side read(const at::Tensor& t);

  void axis(std::int64_t extent, std::int64_t stride_bytes) noexcept;
  void axes(const at::Tensor& t) noexcept;
  void flip(int axis) noexcept;
  /// Only elements [begin, begin + count) along the axis.
  void narrow(int axis, std::int64_t begin, std::int64_t count) noexcept;

  /// In the C ABI's words, valid as long as this.
  const restride_tensor& tensor() noexcept;
  std::int64_t bytes() const noexcept;

 private:
  std::int64_t extents_[kMostAxes];
  std::int64_t strides_[kMostAxes];
  restride_tensor tensor_ = RESTRIDE_TENSOR_INIT;
  std::int64_t element_bytes_;
};

/// Copies on torch's threads or on its current stream, and counts. Or says that it did not: then nothing is written.
bool copied(Side& dst, Side& src, const at::Device& device, bool fresh);

// ---- what is counted

void count_seen(Operator op) noexcept;
void count_taken(Operator op) noexcept;
/// Everything since the last reset, as JSON; where most time went comes first.
std::string counted(bool reset);

}  // namespace restride_torch
