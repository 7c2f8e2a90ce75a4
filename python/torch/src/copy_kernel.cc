// aten::copy_ by restride: a kernel on torch's CPU key (and CUDA key), which takes the copies that restride makes
// faster and hands everything else to torch's own function. contiguous, clone, reshape, to, slice assignment and others
// end here.
//
// Compiled against the torch that is there, by pip; it calls restride's C ABI and is called by ctypes (restride_torch).
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/copy_native.h>
#include <c10/util/Exception.h>
#include <restride/restride.h>
#include <torch/library.h>

#ifdef RESTRIDE_TORCH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace {

using at::ScalarType;

/// What enable() was told.
std::atomic<std::int64_t> min_bytes{0};

// ---- what is counted

struct Counts {
  std::atomic<std::uint64_t> seen{0}, taken{0}, bytes{0}, nanoseconds{0};
};
Counts counts;

/// Time and calls of the layouts that took a while, by their words: at most kMostLayouts.
struct Spent {
  std::uint64_t calls = 0, nanoseconds = 0, bytes = 0;
};
constexpr std::size_t kMostLayouts = 256;
constexpr std::uint64_t kWorthNaming = 20000;  // nanoseconds of a copy
std::mutex spent_mutex;
std::unordered_map<std::string, Spent> spent;

// ---- which copies restride takes

/// The restride dtype of a torch dtype; -1 for those that it moves and does not convert.
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

bool is_integer(ScalarType t) noexcept { return c10::isIntegralType(t, /*includeBool=*/true); }
bool is_small_integer(ScalarType t) noexcept { return is_integer(t) && c10::elementSize(t) <= 1; }
bool is_wide_float(ScalarType t) noexcept { return t == ScalarType::Float || t == ScalarType::Double; }

/// Casts whose result is the same in both. Torch wraps floats that become integers and restride saturates; torch rounds
/// f64 and wide integers to half floats twice and restride once; both keep NaNs NaN, of f32 to halves with other
/// payloads.
bool same_cast(ScalarType to, ScalarType from) noexcept {
  if (to == from) return true;
  if (is_integer(from))
    return is_integer(to) || is_wide_float(to) ||
           (is_small_integer(from) && c10::isReducedFloatingType(to) && c10::elementSize(to) == 2);
  if (from == ScalarType::Float)
    return to == ScalarType::Double || to == ScalarType::Half || to == ScalarType::BFloat16;
  if (from == ScalarType::Half || from == ScalarType::BFloat16) return is_wide_float(to);
  return from == ScalarType::Double && to == ScalarType::Float;
}

/// Torch had names of axes up to 2.12.
template <class T>
bool named(const T& t) {
  if constexpr (requires { t.has_names(); })
    return t.has_names();
  else
    return false;
}

/// Whether both lie dense in one order: torch moves those as fast as memory does.
bool plain(const at::Tensor& a, const at::Tensor& b) {
  return a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

bool is_ours(const at::Tensor& self, const at::Tensor& src) {
  if (self.layout() != at::kStrided || src.layout() != at::kStrided) return false;
  if (self.device() != src.device() || self.is_quantized() || src.is_quantized()) return false;
  if (static_cast<std::int64_t>(self.nbytes()) < min_bytes.load(std::memory_order_relaxed)) return false;
  if (!self.sizes().equals(src.sizes()) || self.dim() > 64 || self.numel() == 0) return false;
  if (plain(self, src)) return false;
  if (self.is_conj() || src.is_conj() || self.is_neg() || src.is_neg() || named(self) || named(src)) return false;
  if (self.is_same(src) || !self.has_storage() || !src.has_storage()) return false;
  const ScalarType to = self.scalar_type(), from = src.scalar_type();
  return to == from || (dtype_of(to) >= 0 && dtype_of(from) >= 0 && same_cast(to, from));
}

// ---- the copy

/// A tensor in the C ABI's words. `strides` holds its strides in bytes.
restride_tensor describe(const at::Tensor& t, void* data, std::int64_t* strides) {
  restride_tensor out = RESTRIDE_TENSOR_INIT;
  const auto size = static_cast<std::int64_t>(t.element_size());
  for (std::int64_t i = 0; i < t.dim(); ++i) strides[i] = t.strides()[i] * size;
  out.data = data;
  out.dtype = dtype_of(t.scalar_type());
  if (out.dtype < 0) {
    out.dtype = RESTRIDE_BYTES;
    out.element_bytes = size;
  }
  out.rank = static_cast<int>(t.dim());
  out.extents = t.sizes().data();
  out.strides_bytes = strides;
  return out;
}

/// restride's tasks on torch's intra-op threads. A task does not throw.
void on_intra_op_pool(void*, int tasks, void (*body)(void*, int), void* body_arg) {
  at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(body_arg, static_cast<int>(i));
  });
}

void count(const restride_tensor& dst, const restride_tensor& src, std::uint64_t bytes, std::uint64_t nanoseconds) {
  counts.taken.fetch_add(1, std::memory_order_relaxed);
  counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
  counts.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
  if (nanoseconds < kWorthNaming) return;
  char from[512], to[512];
  if (restride_layout_print(&src, from, sizeof from, nullptr) != RESTRIDE_OK ||
      restride_layout_print(&dst, to, sizeof to, nullptr) != RESTRIDE_OK)
    return;
  const std::string words = std::string(from) + " -> " + to;
  const std::lock_guard lock(spent_mutex);
  if (spent.size() >= kMostLayouts && spent.find(words) == spent.end()) return;
  Spent& s = spent[words];
  ++s.calls;
  s.nanoseconds += nanoseconds;
  s.bytes += bytes;
}

/// Copies, or says that it did not: then nothing has been written.
bool copied(const at::Tensor& self, const at::Tensor& src) {
  std::int64_t dst_strides[64], src_strides[64];
  const restride_tensor dst = describe(self, self.mutable_data_ptr(), dst_strides);
  const restride_tensor from = describe(src, const_cast<void*>(src.const_data_ptr()), src_strides);
  restride_options options = RESTRIDE_OPTIONS_INIT;
  restride_executor executor = RESTRIDE_EXECUTOR_INIT;
  if (self.is_cpu()) {
    executor.parallel = on_intra_op_pool;
    executor.threads = at::in_parallel_region() ? 1 : at::get_num_threads();
    options.device = RESTRIDE_DEVICE_CPU;
    options.executor = &executor;
    options.threads = executor.threads;
  } else {
#ifdef RESTRIDE_TORCH_CUDA
    options.device = RESTRIDE_DEVICE_CUDA;
    options.cuda_device = self.get_device();
    options.stream = c10::cuda::getCurrentCUDAStream(self.get_device()).stream();
#else
    return false;
#endif
  }
  const auto start = std::chrono::steady_clock::now();
  if (restride_copy(&dst, &from, &options) != RESTRIDE_OK)
    return false;  // overlap, for instance: torch has its own words
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  count(dst, from, self.nbytes(), static_cast<std::uint64_t>(took.count()));
  return true;
}

at::Tensor& copy_kernel(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  counts.seen.fetch_add(1, std::memory_order_relaxed);
  if (is_ours(self, src) && copied(self, src)) return self;
  return at::native::copy_(self, src, non_blocking);
}

// ---- switching

/// Torch warns where a kernel takes another's place, which is what this is for.
struct Silent : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

std::mutex switch_mutex;
std::unique_ptr<torch::Library> registered;

std::string& text() {
  thread_local std::string kept;
  return kept;
}

#ifdef RESTRIDE_TORCH_CUDA
constexpr bool kWithCuda = true;
#else
constexpr bool kWithCuda = false;
#endif

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

/// Who registered a kernel of aten::copy_ for the key already: "" where nobody has.
std::string rival(c10::DispatchKey key) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
  if (!op.hasKernelForDispatchKey(key)) return "";
  const std::string state = op.dumpState();
  const std::string name = std::string("\n") + c10::toString(key) + ": registered at ";
  const std::size_t at = state.find(name);
  if (at == std::string::npos) return "somebody whom torch does not name";
  const std::size_t start = at + name.size();
  return state.substr(start, state.find('\n', start) - start);
}

}  // namespace

#define RESTRIDE_TORCH_EXPORT extern "C" __attribute__((visibility("default")))

/// Turns the kernel on. Returns "", or why it is off as before: somebody else's kernel is there.
RESTRIDE_TORCH_EXPORT const char* restride_torch_enable(std::int64_t least_bytes) {
  const std::lock_guard lock(switch_mutex);
  min_bytes = least_bytes;
  text().clear();
  if (registered) return text().c_str();
  try {
    for (const auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
      if (key == c10::DispatchKey::CUDA && !kWithCuda) continue;
      if (const std::string who = rival(key); !who.empty()) {
        text() =
            std::string("aten::copy_ has another kernel for ") + c10::toString(key) + " already, registered at " + who;
        return text().c_str();
      }
    }
    Silent silent;
    const c10::WarningUtils::WarningHandlerGuard guard(&silent);
    auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", std::nullopt, __FILE__, __LINE__);
    library->impl("copy_", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(copy_kernel)));
    if (kWithCuda) library->impl("copy_", torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(copy_kernel)));
    registered = std::move(library);  // a library that is not kept takes its kernels back
  } catch (const std::exception& e) {
    text() = e.what();
  }
  return text().c_str();
}

RESTRIDE_TORCH_EXPORT void restride_torch_disable() {
  const std::lock_guard lock(switch_mutex);
  registered.reset();
}

RESTRIDE_TORCH_EXPORT int restride_torch_enabled() {
  const std::lock_guard lock(switch_mutex);
  return registered ? 1 : 0;
}

/// Whether it was compiled for torch's CUDA key as well.
RESTRIDE_TORCH_EXPORT int restride_torch_with_cuda() { return kWithCuda ? 1 : 0; }

/// What was counted since the last reset, as JSON; where most time went comes first.
RESTRIDE_TORCH_EXPORT const char* restride_torch_stats(int reset) {
  const std::lock_guard lock(spent_mutex);
  std::vector<std::pair<std::string, Spent>> most(spent.begin(), spent.end());
  std::sort(most.begin(), most.end(),
            [](const auto& a, const auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  std::string& out = text();
  out = "{\"seen\": " + std::to_string(counts.seen) + ", \"taken\": " + std::to_string(counts.taken) +
        ", \"bytes\": " + std::to_string(counts.bytes) + ", \"nanoseconds\": " + std::to_string(counts.nanoseconds) +
        ", \"most\": [";
  for (std::size_t i = 0; i < most.size() && i < 16; ++i) {
    const auto& [words, s] = most[i];
    out += std::string(i == 0 ? "" : ", ") + "{\"copy\": \"" + escaped(words) +
           "\", \"calls\": " + std::to_string(s.calls) + ", \"nanoseconds\": " + std::to_string(s.nanoseconds) +
           ", \"bytes\": " + std::to_string(s.bytes) + "}";
  }
  out += "]}";
  if (reset != 0) {
    counts.seen = counts.taken = counts.bytes = counts.nanoseconds = 0;
    spent.clear();
  }
  return out.c_str();
}
