// Torch's operators by restride: kernels on torch's CPU key (copy_ on its CUDA key as well), which take the copies that
// restride makes faster and hand everything else to torch's own functions. contiguous, clone, reshape, to, slice
// assignment and others end in copy_; stack ends in cat, and what concatenates or shifts in several steps is one pass.
//
// Compiled against the torch that is there, by pip; it calls restride's C ABI and is called by ctypes (restride_torch).
#include <ATen/core/IListRef.h>
#include <ATen/ops/cat_cpu_dispatch.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/flip_native.h>
#include <ATen/ops/pixel_shuffle_native.h>
#include <ATen/ops/pixel_unshuffle_native.h>
#include <ATen/ops/roll_native.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "copies.h"

namespace restride_torch {
namespace {

using at::ScalarType;

// ---- copy_

/// Whether both lie dense in one order: torch moves those as fast as memory does.
bool plain(const at::Tensor& a, const at::Tensor& b) {
  return a.strides() == b.strides() && (a.is_contiguous() || a.is_non_overlapping_and_dense());
}

/// Elements that lie dense on both sides, innermost; 0 where the source repeats one element there.
std::int64_t row_of(at::IntArrayRef sizes, at::IntArrayRef dst, at::IntArrayRef src) {
  std::int64_t row = 1;
  for (std::size_t i = 0; i < sizes.size();) {
    if (sizes[i] != 1 && dst[i] == 1 && src[i] == 0) return 0;
    const bool longer = sizes[i] != 1 && dst[i] == row && src[i] == row;
    row *= longer ? sizes[i] : 1;
    i = longer ? 0 : i + 1;
  }
  return row;
}

/// Torch's loop over rows is slow at single elements and at rows that are whole vectors, but no others.
bool short_row(std::int64_t row, std::int64_t row_bytes) { return row == 1 || row_bytes <= 16 || row_bytes == 32; }

/// Whether torch's loop over rows is as fast, on a CPU, as anything: measured on an EPYC (Zen 4) with torch 2.13, one
/// thread. It converts rows as fast as it moves them, and moves long ones as fast as the caches are.
bool torch_has_rows(const at::Tensor& self, const at::Tensor& src) {
  constexpr std::int64_t kShortest = 64, kLong = 128;                            // bytes of a row
  constexpr std::int64_t kSmall = 64 << 10, kLarge = 8 << 20, kHuge = 32 << 20;  // of the result
  const std::int64_t row = row_of(self.sizes(), self.strides(), src.strides());
  if (row == 0) return true;
  if (self.scalar_type() != src.scalar_type()) return row >= 16 && src.scalar_type() != ScalarType::Long;
  const auto row_bytes = row * static_cast<std::int64_t>(self.element_size());
  const auto bytes = static_cast<std::int64_t>(self.nbytes());
  if (short_row(row, row_bytes)) return false;
  if (row_bytes < kShortest) return true;
  return row_bytes < kLong ? bytes < kHuge : bytes > kSmall && bytes < kLarge;
}

/// The cheapest questions first: most calls are left alone. Flat, because calls of torch's inline functions add up.
[[gnu::flatten]] bool may_be_taken(const at::Tensor& self, const at::Tensor& src) {
  const std::int64_t bytes = self.numel() * static_cast<std::int64_t>(self.itemsize());
  const std::int64_t least = min_bytes.load(std::memory_order_relaxed);
  if (bytes < least || bytes == 0) return false;
  // What takes a GPU no longer than a launch gains nothing, and torch's call costs the host a little less.
  if (bytes < kLaunchesHide * least && !self.is_cpu()) return false;
  if (self.layout() != at::kStrided || src.layout() != at::kStrided || self.device() != src.device()) return false;
  if (!self.sizes().equals(src.sizes()) || self.dim() > Side::kMostAxes) return false;
  if ((bytes < kLeastFreshAlone || !self.is_cpu()) && plain(self, src)) return false;
  return same_cast(self.scalar_type(), src.scalar_type());
}

/// Apart from the questions, so that a call that is left alone saves no registers for it.
[[gnu::noinline]] bool copy_taken(const at::Tensor& self, const at::Tensor& src) {
  if (!is_memory(self) || !is_memory(src) || self.is_same(src)) return false;
  const bool left = plain(self, src) || (self.is_cpu() && torch_has_rows(self, src));
  const bool fresh = is_fresh(self, left ? kLeastFreshAlone : kLeastFresh);
  if (left && !fresh) return false;
  Side to = Side::written(self), from = Side::read(src);
  if (!copied(to, from, self.device(), fresh)) return false;
  count_taken(Operator::kCopy);
  return true;
}

at::Tensor& copy_kernel(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  count_seen(Operator::kCopy);
  return may_be_taken(self, src) && copy_taken(self, src) ? self : at::native::copy_(self, src, non_blocking);
}

// ---- operators with a result of their own, on the CPU. Each returns an undefined tensor where it takes nothing.

/// What torch's own kernels of these operators take, too.
bool is_ordinary(const at::Tensor& t) {
  const at::ScalarType type = t.scalar_type();
  return t.is_cpu() && is_memory(t) && t.numel() != 0 && t.dim() <= Side::kMostAxes - 2 &&
         (c10::isIntegralType(type, /*includeBool=*/true) || c10::isComplexType(type) || type == at::kFloat ||
          type == at::kDouble || type == at::kHalf || type == at::kBFloat16) &&
         !(c10::isBarebonesUnsignedType(type) || type == at::kComplexHalf);
}

bool is_large(std::int64_t bytes) { return bytes >= min_bytes.load(std::memory_order_relaxed); }

bool wrap(std::int64_t* axis, std::int64_t rank) {
  if (*axis < 0) *axis += rank;
  return *axis >= 0 && *axis < rank;
}

/// As torch's cat has it.
at::MemoryFormat common_format(const at::ITensorListRef& tensors) {
  std::optional<at::MemoryFormat> format;
  for (const at::Tensor& t : tensors) {
    const at::MemoryFormat f = t.suggest_memory_format();
    if (f == at::MemoryFormat::Contiguous || (format && *format != f)) return at::MemoryFormat::Contiguous;
    format = f;
  }
  return *format;
}

at::Tensor cat_taken(const at::ITensorListRef& tensors, std::int64_t axis) {
  if (tensors.size() == 0) return {};
  const at::Tensor& first = *tensors.begin();
  if (!is_ordinary(first) || first.dim() == 0 || !wrap(&axis, first.dim())) return {};
  std::int64_t extent = 0, bytes = 0;
  bool strided = false;
  for (const at::Tensor& t : tensors) {
    if (!is_ordinary(t) || t.scalar_type() != first.scalar_type() || t.dim() != first.dim()) return {};
    for (std::int64_t i = 0; i < t.dim(); ++i)
      if (i != axis && t.size(i) != first.size(i)) return {};
    extent += t.size(axis);
    bytes += static_cast<std::int64_t>(t.nbytes());
    strided = strided || !t.is_contiguous();
  }
  if (!is_large(bytes) || (!strided && bytes < kLeastFresh)) return {};
  at::DimVector sizes(first.sizes());
  sizes[static_cast<std::size_t>(axis)] = extent;
  at::Tensor out = at::empty(sizes, first.options(), common_format(tensors));
  bool pays = true;
  for (const at::Tensor& t : tensors) {
    const std::int64_t row = row_of(t.sizes(), out.strides(), t.strides());
    pays = pays && row != 0 && short_row(row, row * static_cast<std::int64_t>(t.element_size()));
  }
  const bool fresh = is_fresh(out, pays ? kLeastFresh : kLeastFreshAlone);
  if (!pays && !fresh) return at::cpu::cat_out(out, tensors, axis);
  std::int64_t begin = 0;
  for (const at::Tensor& t : tensors) {
    Side to = Side::written(out), from = Side::read(t);
    to.narrow(static_cast<int>(axis), begin, t.size(axis));
    if (!copied(to, from, out.device(), fresh)) return {};
    begin += t.size(axis);
  }
  count_taken(Operator::kCat);
  return out;
}

at::Tensor cat_kernel(const at::ITensorListRef& tensors, std::int64_t dim) {
  count_seen(Operator::kCat);
  at::Tensor out = cat_taken(tensors, dim);
  return out.defined() ? out : at::cpu::cat(tensors, dim);
}

constexpr std::int64_t kMostPixel = 16;          // bytes
constexpr std::int64_t kSurelyFresh = 32 << 20;  // malloc maps such results anew and unmaps them

at::Tensor flip_taken(const at::Tensor& self, at::IntArrayRef dims) {
  if (!is_ordinary(self) || !is_large(static_cast<std::int64_t>(self.nbytes()))) return {};
  std::uint64_t flipped = 0;
  for (std::int64_t axis : dims) {
    if (!wrap(&axis, self.dim()) || (flipped >> axis & 1) != 0) return {};
    flipped |= std::uint64_t{1} << axis;
  }
  // Torch reverses rows by vectors, but for those of a few elements, and moves them as memory does.
  std::int64_t row = 0;
  bool turned = false;
  for (int axis = 0; axis < self.dim(); ++axis)
    if (self.size(axis) != 1 && self.stride(axis) == 1) {
      row = self.size(axis) * static_cast<std::int64_t>(self.element_size());
      turned = (flipped >> axis & 1) != 0;
    }
  const bool pixels = turned && row <= kMostPixel;
  if (!pixels && (turned || static_cast<std::int64_t>(self.nbytes()) < kSurelyFresh)) return {};
  at::Tensor out = at::empty_like(self, at::MemoryFormat::Preserve);
  const bool fresh = is_fresh(out, kLeastFresh);
  if (!pixels && !fresh) return {};
  Side to = Side::written(out), from = Side::read(self);
  for (int axis = 0; axis < self.dim(); ++axis)
    if ((flipped >> axis & 1) != 0) from.flip(axis);
  if (!copied(to, from, out.device(), fresh)) return {};
  count_taken(Operator::kFlip);
  return out;
}

at::Tensor flip_kernel(const at::Tensor& self, at::IntArrayRef dims) {
  count_seen(Operator::kFlip);
  at::Tensor out = flip_taken(self, dims);
  return out.defined() ? out : at::native::flip(self, dims);
}

constexpr std::int64_t kShortestRow = 128;  // bytes; torch is faster at the pieces of shorter ones

/// The elements of an axis that is rolled lie in two boxes, those of n axes in 2^n.
at::Tensor roll_taken(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
  constexpr std::size_t kMostRolled = 3;
  if (dims.empty() || dims.size() != shifts.size() || dims.size() > kMostRolled) return {};
  if (!is_ordinary(self) || !self.is_contiguous() || !is_large(static_cast<std::int64_t>(self.nbytes()))) return {};
  std::int64_t axes[kMostRolled], begins[kMostRolled];
  for (std::size_t i = 0; i < dims.size(); ++i) {
    axes[i] = dims[i];
    if (!wrap(&axes[i], self.dim()) || std::find(axes, axes + i, axes[i]) != axes + i) return {};
    const std::int64_t extent = self.size(axes[i]);
    if (self.stride(axes[i]) == 1 && extent * static_cast<std::int64_t>(self.element_size()) < kShortestRow) return {};
    begins[i] = (shifts[i] % extent + extent) % extent;  // where element 0 goes
  }
  if (dims.size() == 1 && self.stride(axes[0]) == 1) return {};  // pieces of rows, which torch moves as memory does
  at::Tensor out = at::empty(self.sizes(), self.options());
  const bool fresh = is_fresh(out, kLeastFresh);
  for (unsigned box = 0; box < 1U << dims.size(); ++box) {
    Side to = Side::written(out), from = Side::read(self);
    bool empty = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t extent = self.size(axes[i]), begin = begins[i];
      const bool wrapped = (box >> i & 1) != 0;  // the elements that come in at the front
      const std::int64_t count = wrapped ? begin : extent - begin;
      to.narrow(static_cast<int>(axes[i]), wrapped ? 0 : begin, count);
      from.narrow(static_cast<int>(axes[i]), wrapped ? extent - begin : 0, count);
      empty = empty || count == 0;
    }
    if (!empty && !copied(to, from, out.device(), fresh)) return {};
  }
  count_taken(Operator::kRoll);
  return out;
}

at::Tensor roll_kernel(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
  count_seen(Operator::kRoll);
  at::Tensor out = roll_taken(self, shifts, dims);
  return out.defined() ? out : at::native::roll(self, shifts, dims);
}

/// pixel_shuffle of `packed` (..., C f f, H, W) and `spread` (..., C, H f, W f), in whichever direction: the same axes
/// of both, outermost first: ..., C, H, f, W, f.
Side packed_side(const at::Tensor& t, void* data, std::int64_t f) {
  const std::int64_t n = t.dim() - 3, size = static_cast<std::int64_t>(t.element_size());
  const std::int64_t c = t.stride(n) * size;
  Side side(data, t.scalar_type());
  for (std::int64_t i = 0; i < n; ++i) side.axis(t.size(i), t.stride(i) * size);
  side.axis(t.size(n) / (f * f), c * f * f);
  side.axis(t.size(n + 1), t.stride(n + 1) * size);
  side.axis(f, c * f);
  side.axis(t.size(n + 2), t.stride(n + 2) * size);
  side.axis(f, c);
  return side;
}

Side spread_side(const at::Tensor& t, void* data, std::int64_t f) {
  const std::int64_t n = t.dim() - 3, size = static_cast<std::int64_t>(t.element_size());
  Side side(data, t.scalar_type());
  for (std::int64_t i = 0; i <= n; ++i) side.axis(t.size(i), t.stride(i) * size);
  for (std::int64_t i = n + 1; i < t.dim(); ++i) {
    side.axis(t.size(i) / f, t.stride(i) * f * size);
    side.axis(f, t.stride(i) * size);
  }
  return side;
}

at::Tensor shuffled(const at::Tensor& self, std::int64_t f, bool unshuffle) {
  constexpr std::int64_t kMostFactor = 1 << 15;
  const std::int64_t rank = self.dim();
  if (rank < 3 || f < 1 || f > kMostFactor || !is_ordinary(self)) return {};
  if (!is_large(static_cast<std::int64_t>(self.nbytes()))) return {};
  const std::int64_t c = self.size(rank - 3), h = self.size(rank - 2), w = self.size(rank - 1);
  at::DimVector sizes(self.sizes());
  const auto set = [&](std::int64_t channels, std::int64_t rows, std::int64_t columns) {
    sizes[static_cast<std::size_t>(rank - 3)] = channels;
    sizes[static_cast<std::size_t>(rank - 2)] = rows;
    sizes[static_cast<std::size_t>(rank - 1)] = columns;
  };
  if (unshuffle) {
    if (h % f != 0 || w % f != 0) return {};
    set(c * f * f, h / f, w / f);
  } else {
    if (c % (f * f) != 0) return {};
    set(c / (f * f), h * f, w * f);
  }
  at::Tensor out = at::empty(sizes, self.options(), self.suggest_memory_format());
  void* const from = const_cast<void*>(self.const_data_ptr());
  void* const to = out.mutable_data_ptr();
  Side dst = unshuffle ? packed_side(out, to, f) : spread_side(out, to, f);
  Side src = unshuffle ? spread_side(self, from, f) : packed_side(self, from, f);
  if (!copied(dst, src, out.device(), is_fresh(out, kLeastFresh))) return {};
  count_taken(unshuffle ? Operator::kPixelUnshuffle : Operator::kPixelShuffle);
  return out;
}

at::Tensor pixel_shuffle_kernel(const at::Tensor& self, std::int64_t factor) {
  count_seen(Operator::kPixelShuffle);
  at::Tensor out = shuffled(self, factor, false);
  return out.defined() ? out : at::native::pixel_shuffle_cpu(self, factor);
}

at::Tensor pixel_unshuffle_kernel(const at::Tensor& self, std::int64_t factor) {
  count_seen(Operator::kPixelUnshuffle);
  at::Tensor out = shuffled(self, factor, true);
  return out.defined() ? out : at::native::pixel_unshuffle_cpu(self, factor);
}

// ---- switching

/// Torch warns where a kernel takes another's place, which is what this is for.
struct Silent : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

std::mutex switch_mutex;
std::unique_ptr<torch::Library> registered;
unsigned registered_operators = 0;

std::string& text() {
  thread_local std::string kept;
  return kept;
}

#ifdef RESTRIDE_TORCH_CUDA
constexpr bool kWithCuda = true;
#else
constexpr bool kWithCuda = false;
#endif

/// Who registered a kernel of an operator for the key already: "" where nobody but torch has.
std::string rival(const std::string& name, c10::DispatchKey key) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "");
  if (!op.hasKernelForDispatchKey(key)) return "";
  const std::string state = op.dumpState();
  const std::string line = std::string("\n") + c10::toString(key) + ": registered at ";
  const std::size_t at = state.find(line);
  if (at == std::string::npos) return "somebody whom torch does not name";
  const std::size_t start = at + line.size();
  const std::string who = state.substr(start, state.find('\n', start) - start);
  return who.find("aten/src/ATen/Register") != std::string::npos ? "" : who;
}

std::string rivals(unsigned operators) {
  for (int i = 0; i < kOperators; ++i)
    for (const auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
      if ((operators >> i & 1) == 0 || (key == c10::DispatchKey::CUDA && (!kWithCuda || i != 0))) continue;
      const std::string name = std::string("aten::") + kNames[i];
      if (const std::string who = rival(name, key); !who.empty())
        return name + " has another kernel for " + c10::toString(key) + " already, registered at " + who;
    }
  return "";
}

/// "copy_,flip" as bits. Errors: at::Error, naming the operator.
unsigned operators_of(std::string_view names) {
  unsigned out = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    int i = 0;
    while (i < kOperators && name != kNames[i]) ++i;
    TORCH_CHECK(i < kOperators, "no operator '", name, "'");
    out |= 1U << i;
  }
  return out;
}

std::unique_ptr<torch::Library> take(unsigned operators) {
  Silent silent;
  const c10::WarningUtils::WarningHandlerGuard guard(&silent);
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", std::nullopt, __FILE__, __LINE__);
  const auto impl = [&](Operator op, auto kernel) {
    if ((operators >> static_cast<int>(op) & 1) == 0) return;
    library->impl(kNames[static_cast<int>(op)], torch::dispatch(c10::DispatchKey::CPU, kernel));
    if (kWithCuda && op == Operator::kCopy)
      library->impl(kNames[static_cast<int>(op)], torch::dispatch(c10::DispatchKey::CUDA, kernel));
  };
  impl(Operator::kCopy, TORCH_FN(copy_kernel));
  impl(Operator::kCat, TORCH_FN(cat_kernel));
  impl(Operator::kFlip, TORCH_FN(flip_kernel));
  impl(Operator::kRoll, TORCH_FN(roll_kernel));
  impl(Operator::kPixelShuffle, TORCH_FN(pixel_shuffle_kernel));
  impl(Operator::kPixelUnshuffle, TORCH_FN(pixel_unshuffle_kernel));
  return library;
}

}  // namespace
}  // namespace restride_torch

#define RESTRIDE_TORCH_EXPORT extern "C" __attribute__((visibility("default")))

/// Turns kernels on, those of the operators in `names` ("copy_,flip") and no others. Returns "", or why all is as it
/// was: somebody else's kernel is there.
RESTRIDE_TORCH_EXPORT const char* restride_torch_enable(std::int64_t least_bytes, const char* names) {
  using namespace restride_torch;
  const std::lock_guard lock(switch_mutex);
  text().clear();
  try {
    const unsigned operators = operators_of(names);
    if (!registered || operators != registered_operators) {
      if (const std::string why = rivals(operators & ~(registered ? registered_operators : 0U)); !why.empty()) {
        text() = why;
        return text().c_str();
      }
      registered = take(operators);  // the old ones go when the new ones are there
      registered_operators = operators;
    }
    min_bytes = least_bytes;
  } catch (const std::exception& e) {
    text() = e.what();
  }
  return text().c_str();
}

RESTRIDE_TORCH_EXPORT void restride_torch_disable() {
  const std::lock_guard lock(restride_torch::switch_mutex);
  restride_torch::registered.reset();
}

RESTRIDE_TORCH_EXPORT int restride_torch_enabled() {
  const std::lock_guard lock(restride_torch::switch_mutex);
  return restride_torch::registered ? 1 : 0;
}

/// Whether it was compiled for torch's CUDA key as well.
RESTRIDE_TORCH_EXPORT int restride_torch_with_cuda() { return restride_torch::kWithCuda ? 1 : 0; }

/// What was counted since the last reset, as JSON.
RESTRIDE_TORCH_EXPORT const char* restride_torch_stats(int reset) {
  std::string& out = restride_torch::text();
  out = restride_torch::counted(reset != 0);
  return out.c_str();
}
