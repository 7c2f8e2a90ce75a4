#include "copies.h"

#include <ATen/Parallel.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef RESTRIDE_TORCH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace restride_torch {
namespace {

using at::ScalarType;

bool is_integer(ScalarType t) noexcept { return c10::isIntegralType(t, /*includeBool=*/true); }
bool is_small_integer(ScalarType t) noexcept { return is_integer(t) && c10::elementSize(t) <= 1; }
bool is_wide_float(ScalarType t) noexcept { return t == ScalarType::Float || t == ScalarType::Double; }

/// Torch had names of axes up to 2.12.
template <class T>
bool named(const T& t) {
  if constexpr (requires { t.has_names(); })
    return t.has_names();
  else
    return false;
}

/// restride's tasks on torch's intra-op threads. A task does not throw.
void on_intra_op_pool(void*, int tasks, void (*body)(void*, int), void* body_arg) {
  at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(body_arg, static_cast<int>(i));
  });
}

struct Counts {
  std::atomic<std::uint64_t> seen[kOperators]{}, taken[kOperators]{}, bytes{0}, nanoseconds{0};
};
Counts counts;

/// Time and calls of the layouts that took a while: at most kMostLayouts.
struct Spent {
  std::string words;
  std::uint64_t calls = 0, nanoseconds = 0, bytes = 0;
};
constexpr std::size_t kMostLayouts = 256;
constexpr std::uint64_t kWorthNaming = 20000;  // nanoseconds of a copy
std::mutex spent_mutex;
std::unordered_map<std::uint64_t, Spent> spent;  // by the layouts' hash: words are made once

std::uint64_t mix(std::uint64_t h, const restride_tensor& t) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  const auto add = [&](std::int64_t x) { h = (h ^ h >> 29 ^ static_cast<std::uint64_t>(x)) * kOdd; };
  add(t.dtype);
  add(t.rank);
  for (int i = 0; i < t.rank; ++i) add(t.extents[i]), add(t.strides_bytes[i]);
  return h;
}

void count(const restride_tensor& dst, const restride_tensor& src, std::uint64_t bytes, std::uint64_t nanoseconds) {
  counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
  counts.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
  if (nanoseconds < kWorthNaming) return;
  const std::uint64_t key = mix(mix(1, dst), src);
  const std::lock_guard lock(spent_mutex);
  if (spent.size() >= kMostLayouts && spent.find(key) == spent.end()) return;
  Spent& s = spent[key];
  if (s.words.empty()) {
    char from[512] = "", to[512] = "";
    (void)restride_layout_print(&src, from, sizeof from, nullptr);
    (void)restride_layout_print(&dst, to, sizeof to, nullptr);
    s.words = std::string(from) + " -> " + to;
  }
  ++s.calls;
  s.nanoseconds += nanoseconds;
  s.bytes += bytes;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace

std::atomic<std::int64_t> min_bytes{0};

int dtype_of(ScalarType t) noexcept {
  switch (t) {
    case ScalarType::Bool: return RESTRIDE_BOOL;
    case ScalarType::Byte: return RESTRIDE_U8;
    case ScalarType::UInt16: return RESTRIDE_U16;
    case ScalarType::UInt32: return RESTRIDE_U32;
    case ScalarType::UInt64: return RESTRIDE_U64;
    case ScalarType::Char: return RESTRIDE_I8;
    case ScalarType::Short: return RESTRIDE_I16;
    case ScalarType::Int: return RESTRIDE_I32;
    case ScalarType::Long: return RESTRIDE_I64;
    case ScalarType::Half: return RESTRIDE_F16;
    case ScalarType::BFloat16: return RESTRIDE_BF16;
    case ScalarType::Float: return RESTRIDE_F32;
    case ScalarType::Double: return RESTRIDE_F64;
    case ScalarType::Float8_e4m3fn: return RESTRIDE_F8E4M3;
    case ScalarType::Float8_e5m2: return RESTRIDE_F8E5M2;
    case ScalarType::ComplexFloat: return RESTRIDE_C64;
    case ScalarType::ComplexDouble: return RESTRIDE_C128;
    default: return -1;
  }
}

bool same_cast(ScalarType to, ScalarType from) noexcept {
  if (to == from) return true;
  if (dtype_of(to) < 0 || dtype_of(from) < 0) return false;
  if (is_integer(from))
    return is_integer(to) || is_wide_float(to) ||
           (is_small_integer(from) && c10::isReducedFloatingType(to) && c10::elementSize(to) == 2);
  if (from == ScalarType::Float)
    return to == ScalarType::Double || to == ScalarType::Half || to == ScalarType::BFloat16;
  if (from == ScalarType::Half || from == ScalarType::BFloat16) return is_wide_float(to);
  return from == ScalarType::Double && to == ScalarType::Float;
}

bool is_memory(const at::Tensor& t) {
  return t.layout() == at::kStrided && !t.is_quantized() && !t.is_conj() && !t.is_neg() && !named(t) && t.has_storage();
}

bool is_fresh(const at::Tensor& dst, std::int64_t least_bytes) {
  constexpr int kPlaces = 4;
  const auto bytes = static_cast<std::uintptr_t>(dst.nbytes());
  if (static_cast<std::int64_t>(bytes) < least_bytes || !dst.is_cpu() || !dst.is_non_overlapping_and_dense())
    return false;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto data = reinterpret_cast<std::uintptr_t>(dst.const_data_ptr());
  for (int i = 0; i < kPlaces; ++i) {
    unsigned char there = 0;
    const std::uintptr_t place = (data + bytes / kPlaces * i + bytes / (2 * kPlaces)) / page * page;
    if (::mincore(reinterpret_cast<void*>(place), page, &there) != 0 || (there & 1) != 0) return false;
  }
  return true;
}

Side::Side(void* data, ScalarType type) noexcept : element_bytes_(static_cast<std::int64_t>(c10::elementSize(type))) {
  tensor_.data = data;
  tensor_.dtype = dtype_of(type);
  if (tensor_.dtype < 0) {
    tensor_.dtype = RESTRIDE_BYTES;
    tensor_.element_bytes = element_bytes_;
  }
}

Side Side::written(const at::Tensor& t) {
  Side side(t.mutable_data_ptr(), t.scalar_type());
  side.axes(t);
  return side;
}

Side Side::read(const at::Tensor& t) {
  Side side(const_cast<void*>(t.const_data_ptr()), t.scalar_type());
  side.axes(t);
  return side;
}

void Side::axis(std::int64_t extent, std::int64_t stride_bytes) noexcept {
  extents_[tensor_.rank] = extent;
  strides_[tensor_.rank++] = stride_bytes;
}

void Side::axes(const at::Tensor& t) noexcept {
  const auto sizes = t.sizes(), strides = t.strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) axis(sizes[i], strides[i] * element_bytes_);
}

void Side::flip(int axis) noexcept {
  tensor_.data = static_cast<char*>(tensor_.data) + (extents_[axis] - 1) * strides_[axis];
  strides_[axis] = -strides_[axis];
}

void Side::narrow(int axis, std::int64_t begin, std::int64_t count) noexcept {
  tensor_.data = static_cast<char*>(tensor_.data) + begin * strides_[axis];
  extents_[axis] = count;
}

const restride_tensor& Side::tensor() noexcept {
  tensor_.extents = extents_;
  tensor_.strides_bytes = strides_;
  return tensor_;
}

std::int64_t Side::bytes() const noexcept {
  std::int64_t bytes = element_bytes_;
  for (int i = 0; i < tensor_.rank; ++i) bytes *= extents_[i];
  return bytes;
}

bool copied(Side& dst, Side& src, const at::Device& device, bool fresh) {
  restride_options options = RESTRIDE_OPTIONS_INIT;
  restride_executor executor = RESTRIDE_EXECUTOR_INIT;
  if (device.is_cpu()) {
    executor.parallel = on_intra_op_pool;
    executor.threads = at::in_parallel_region() ? 1 : at::get_num_threads();
    options.device = RESTRIDE_DEVICE_CPU;
    options.executor = &executor;
    options.threads = executor.threads;
    options.result = RESTRIDE_RESULT_SOON;  // what a program makes contiguous it reads next
    options.fresh_destination = fresh ? RESTRIDE_FRESH_PREFAULT : RESTRIDE_FRESH_OFF;
  } else {
#ifdef RESTRIDE_TORCH_CUDA
    options.device = RESTRIDE_DEVICE_CUDA;
    options.cuda_device = device.index();
    options.stream = c10::cuda::getCurrentCUDAStream(device.index()).stream();
#else
    return false;
#endif
  }
  const auto start = std::chrono::steady_clock::now();
  if (restride_copy(&dst.tensor(), &src.tensor(), &options) != RESTRIDE_OK)
    return false;  // overlap, for instance: torch has its own words
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  try {
    count(dst.tensor(), src.tensor(), static_cast<std::uint64_t>(dst.bytes()),
          static_cast<std::uint64_t>(took.count()));
  } catch (const std::exception&) {
    // No memory to count with: the copy is made all the same.
  }
  return true;
}

void count_seen(Operator op) noexcept { counts.seen[static_cast<int>(op)].fetch_add(1, std::memory_order_relaxed); }
void count_taken(Operator op) noexcept { counts.taken[static_cast<int>(op)].fetch_add(1, std::memory_order_relaxed); }

std::string counted(bool reset) {
  const std::lock_guard lock(spent_mutex);
  std::vector<Spent> most;
  for (const auto& [key, s] : spent) most.push_back(s);
  std::sort(most.begin(), most.end(), [](const Spent& a, const Spent& b) { return a.nanoseconds > b.nanoseconds; });
  std::string out = "{\"operators\": {";
  for (int i = 0; i < kOperators; ++i)
    out += std::string(i == 0 ? "\"" : ", \"") + kNames[i] + "\": [" + std::to_string(counts.seen[i]) + ", " +
           std::to_string(counts.taken[i]) + "]";
  out += "}, \"bytes\": " + std::to_string(counts.bytes) + ", \"nanoseconds\": " + std::to_string(counts.nanoseconds) +
         ", \"most\": [";
  for (std::size_t i = 0; i < most.size() && i < 16; ++i) {
    const Spent& s = most[i];
    out += std::string(i == 0 ? "" : ", ") + "{\"copy\": \"" + escaped(s.words) +
           "\", \"calls\": " + std::to_string(s.calls) + ", \"nanoseconds\": " + std::to_string(s.nanoseconds) +
           ", \"bytes\": " + std::to_string(s.bytes) + "}";
  }
  out += "]}";
  if (reset) {
    for (int i = 0; i < kOperators; ++i) counts.seen[i] = counts.taken[i] = 0;
    counts.bytes = counts.nanoseconds = 0;
    spent.clear();
  }
  return out;
}

}  // namespace restride_torch
