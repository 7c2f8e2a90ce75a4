// The C ABI: C structures in, the C++ API called, exceptions turned into status codes. It decides nothing itself.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <restride/restride.h>
#include <restride/restride.hpp>

#include "src/api/c_inputs.h"

namespace {

using restride::ErrorCode;
using restride::api::c::check_struct_size;
using restride::api::c::layout_of;
using restride::api::c::require;
using restride::api::c::write_text;

// The C values are the C++ values: one table each, and the compiler compares them.
#define SAME_STATUS(c, cpp) static_assert(int{c} == static_cast<int>(ErrorCode::cpp))
SAME_STATUS(RESTRIDE_INVALID_ARGUMENT, kInvalidArgument);
SAME_STATUS(RESTRIDE_SHAPE, kShape);
SAME_STATUS(RESTRIDE_OVERLAP, kOverlap);
SAME_STATUS(RESTRIDE_CAST, kCast);
SAME_STATUS(RESTRIDE_PARSE, kParse);
SAME_STATUS(RESTRIDE_RANGE, kRange);
SAME_STATUS(RESTRIDE_DEVICE, kDevice);
SAME_STATUS(RESTRIDE_OUT_OF_MEMORY, kOutOfMemory);
SAME_STATUS(RESTRIDE_IO, kIo);
SAME_STATUS(RESTRIDE_UNSUPPORTED, kUnsupported);
SAME_STATUS(RESTRIDE_INTERNAL, kInternal);
SAME_STATUS(RESTRIDE_AGREEMENT, kAgreement);
SAME_STATUS(RESTRIDE_DEADLINE, kDeadline);
#undef SAME_STATUS

#define SAME_DTYPE(c, cpp) static_assert(int{c} == static_cast<int>(restride::DType::cpp))
SAME_DTYPE(RESTRIDE_BOOL, kBool);
SAME_DTYPE(RESTRIDE_U8, kU8);
SAME_DTYPE(RESTRIDE_U16, kU16);
SAME_DTYPE(RESTRIDE_U32, kU32);
SAME_DTYPE(RESTRIDE_U64, kU64);
SAME_DTYPE(RESTRIDE_I8, kI8);
SAME_DTYPE(RESTRIDE_I16, kI16);
SAME_DTYPE(RESTRIDE_I32, kI32);
SAME_DTYPE(RESTRIDE_I64, kI64);
SAME_DTYPE(RESTRIDE_F16, kF16);
SAME_DTYPE(RESTRIDE_BF16, kBF16);
SAME_DTYPE(RESTRIDE_F32, kF32);
SAME_DTYPE(RESTRIDE_F64, kF64);
SAME_DTYPE(RESTRIDE_F8E4M3, kF8E4M3);
SAME_DTYPE(RESTRIDE_F8E5M2, kF8E5M2);
SAME_DTYPE(RESTRIDE_C64, kC64);
SAME_DTYPE(RESTRIDE_C128, kC128);
SAME_DTYPE(RESTRIDE_BYTES, kBytes);
#undef SAME_DTYPE

static_assert(int{RESTRIDE_DEVICE_AUTO} == static_cast<int>(restride::DeviceKind::kAuto));
static_assert(int{RESTRIDE_DEVICE_CPU} == static_cast<int>(restride::DeviceKind::kCpu));
static_assert(int{RESTRIDE_DEVICE_CUDA} == static_cast<int>(restride::DeviceKind::kCuda));

static_assert(sizeof(restride_view::extents) == restride::kMaxRank * sizeof(std::int64_t));
static_assert(int{RESTRIDE_FRESH_OFF} == static_cast<int>(restride::FreshDestination::kOff));
static_assert(int{RESTRIDE_FRESH_ADVISE} == static_cast<int>(restride::FreshDestination::kAdvise));
static_assert(int{RESTRIDE_FRESH_PREFAULT} == static_cast<int>(restride::FreshDestination::kPrefault));

static_assert(int{RESTRIDE_RESULT_UNKNOWN} == static_cast<int>(restride::ResultUse::kUnknown));
static_assert(int{RESTRIDE_RESULT_SOON} == static_cast<int>(restride::ResultUse::kSoon));
static_assert(int{RESTRIDE_RESULT_LATER} == static_cast<int>(restride::ResultUse::kLater));

static_assert(RESTRIDE_CURRENT_DEVICE == restride::kCurrentDevice && RESTRIDE_MODEL_DEVICE == restride::kModelDevice);

thread_local restride::api::c::LastError last_error;

template <class Body>
restride_status guarded(const Body& body) noexcept {
  return last_error.guard(body);
}

// The structure for a layout whose lists lie in these arrays; without data.
restride_tensor tensor_of(const restride::Layout& layout, const std::int64_t* extents,
                          const std::int64_t* strides_bytes) {
  const bool opaque = layout.element.dtype == restride::DType::kBytes;
  return {sizeof(restride_tensor),
          nullptr,
          static_cast<std::int32_t>(layout.element.dtype),
          layout.rank(),
          extents,
          strides_bytes,
          opaque ? layout.element.size_bytes : 0,
          layout.offset_bytes,
          0};
}

// The promise of a tensor's data; arguments are evaluated in any order, so this looks for NULL too.
std::int64_t align_of(const restride_tensor* t, const char* who) {
  require(t != nullptr, who, " is NULL");
  return t->align_bytes;
}

// C keeps an executor in a structure of its own; `executor` receives it and must live as long as the result.
restride::Options options_of(const restride_options* c, restride::Executor& executor) {
  restride::Options options;
  if (c == nullptr) return options;
  constexpr std::size_t kBeforeReshape = offsetof(restride_options, reshape);
  constexpr std::size_t kBeforeFresh = offsetof(restride_options, fresh_destination);
  if (c->struct_size != kBeforeFresh)
    check_struct_size(c->struct_size, sizeof(restride_options), "options", "RESTRIDE_OPTIONS_INIT", kBeforeReshape);
  require(c->device >= RESTRIDE_DEVICE_AUTO && c->device <= RESTRIDE_DEVICE_CUDA,
          "options.device is no restride_device");
  require(c->threads >= 0, "options.threads is negative; 0 lets restride choose");
  require(c->cuda_device >= RESTRIDE_MODEL_DEVICE, "options.cuda_device is no device; -1 is the current one");
  options.device = static_cast<restride::DeviceKind>(c->device);
  options.cuda_device = c->cuda_device;
  options.threads = c->threads;
  options.measure = c->measure != 0;
  options.stream = c->stream;
  if (c->family != nullptr) options.family = c->family;
  options.reshape = c->struct_size == kBeforeReshape || c->reshape != 0;
  require(c->struct_size == kBeforeReshape || c->reserved == 0,
          "options.reserved is not 0: initialise the structure with RESTRIDE_OPTIONS_INIT");
  if (c->struct_size > kBeforeFresh) {
    require(c->fresh_destination >= RESTRIDE_FRESH_OFF && c->fresh_destination <= RESTRIDE_FRESH_PREFAULT,
            "options.fresh_destination is no restride_fresh");
    require(c->result >= RESTRIDE_RESULT_UNKNOWN && c->result <= RESTRIDE_RESULT_LATER,
            "options.result is no restride_result");
    options.fresh_destination = static_cast<restride::FreshDestination>(c->fresh_destination);
    options.result = static_cast<restride::ResultUse>(c->result);
  }
  if (c->executor != nullptr) {
    check_struct_size(c->executor->struct_size, sizeof(restride_executor), "options.executor",
                      "RESTRIDE_EXECUTOR_INIT");
    require(c->executor->parallel != nullptr, "options.executor->parallel is NULL");
    require(c->executor->threads >= 1, "options.executor->threads must be at least 1");
    executor = {c->executor->parallel, c->executor->context, c->executor->threads};
    options.executor = &executor;
  }
  return options;
}

void check_view(const restride_view* out, const char* who) {
  require(out != nullptr, who, " is NULL");
  check_struct_size(out->struct_size, sizeof(restride_view), who, "RESTRIDE_VIEW_INIT");
}

// Fills a view. `layout` holds no reference into *out, so a tensor may be seen anew in its own place.
void put(restride_view* out, const void* data, std::int64_t align_bytes, const restride::Layout& layout) {
  for (int i = 0; i < layout.rank(); ++i) {
    const restride::Mode& m = layout.modes[static_cast<std::size_t>(i)];
    out->extents[i] = m.extent;
    out->strides_bytes[i] = m.stride_bytes;
  }
  out->tensor = tensor_of(layout, out->extents, out->strides_bytes);
  out->tensor.data = const_cast<void*>(data);  // NOLINT: the caller knows which side it is
  out->tensor.align_bytes = align_bytes;
}

// A list of the caller's. Errors: ArgumentError.
restride::Extents list_of(const std::int64_t* values, std::int32_t count, const char* who) {
  require(count >= 0 && count <= restride::kMaxRank, who, ": 0 to 64 values are taken");
  require(count == 0 || values != nullptr, who, " is NULL with values to read");
  return {values, static_cast<std::size_t>(count)};
}

// *out = view(layout of `in`).
template <class View>
restride_status see(restride_view* out, const restride_tensor* in, View view) noexcept {
  return guarded([&] {
    check_view(out, "out");
    const restride::Layout layout = view(layout_of(in, "in"));
    put(out, in->data, in->align_bytes, layout);
  });
}

// What stands between commas; nothing of blanks alone.
std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> out;
  if (text.find_first_not_of(" \t") == std::string_view::npos) return out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<std::pair<std::string, std::int64_t>> sizes_of(const char* text) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  const std::string_view given = text == nullptr ? "" : text;
  for (const std::string& entry : entries_of(given)) {
    const std::size_t first = entry.find_first_not_of(" \t");
    const std::size_t equals = entry.find('=');
    std::int64_t value = 0;
    const char* end = entry.data() + entry.size();
    while (equals != std::string::npos && end[-1] == ' ') --end;
    const bool good = equals != std::string::npos && first < equals && [&] {
      const auto [at, error] = std::from_chars(entry.data() + equals + 1, end, value);
      return error == std::errc{} && at == end;
    }();
    if (!good) throw restride::ParseError("sizes '" + std::string(given) + "': write name=number, as in s=4,t=2");
    out.emplace_back(entry.substr(first, equals - first), value);
  }
  return out;
}

restride_tensor described(std::int32_t dtype, std::int64_t element_bytes, std::int32_t rank,
                          const std::int64_t* extents, const std::int64_t* strides_bytes) {
  restride_tensor t = RESTRIDE_TENSOR_INIT;
  t.dtype = dtype;
  t.element_bytes = element_bytes;
  t.rank = rank;
  t.extents = extents;
  t.strides_bytes = strides_bytes;
  return t;
}

restride_status status_of_launch(int device_error) {
  if (device_error == 0) return RESTRIDE_OK;
  char message[64];
  std::snprintf(message, sizeof message, "the launch failed with CUDA error %d", device_error);
  return last_error.set(RESTRIDE_DEVICE, message);
}

}  // namespace

struct restride_plan {
  restride::Executor executor;  // options may point to it
  restride::Options options;    // how to run where the caller gives no options of its own
  restride::Plan plan;

  explicit restride_plan(restride::Plan p) : plan(std::move(p)) { options.threads = plan.threads(); }
  restride_plan(const restride_tensor* dst, const restride_tensor* src, const restride_options* o)
      : options(options_of(o, executor)),
        plan(layout_of(dst, "dst"), layout_of(src, "src"), options, align_of(dst, "dst"), align_of(src, "src")) {
    options.family = {};  // the caller's text may go now
  }
  restride_plan(const restride_plan&) = delete;
  restride_plan& operator=(const restride_plan&) = delete;
};

extern "C" {

const char* restride_version(void) {
  // A view of a literal: it ends with a NUL.
  return restride::version().data();
}

const char* restride_status_name(restride_status status) {
  switch (status) {
    case RESTRIDE_OK: return "ok";
    case RESTRIDE_INVALID_ARGUMENT: return "invalid argument";
    case RESTRIDE_SHAPE: return "shapes do not fit";
    case RESTRIDE_OVERLAP: return "overlap";
    case RESTRIDE_CAST: return "no such cast";
    case RESTRIDE_PARSE: return "parse error";
    case RESTRIDE_RANGE: return "out of range";
    case RESTRIDE_DEVICE: return "device error";
    case RESTRIDE_OUT_OF_MEMORY: return "out of memory";
    case RESTRIDE_IO: return "input or output error";
    case RESTRIDE_UNSUPPORTED: return "not supported by this library";
    case RESTRIDE_INTERNAL: return "internal error";
    case RESTRIDE_AGREEMENT: return "ranks disagree";
    case RESTRIDE_DEADLINE: return "deadline passed";
  }
  return "unknown status";
}

void restride_set_log(void (*sink)(void* context, const char* line), void* context) {
  restride::set_log(sink, context);
}

const char* restride_last_error(void) { return last_error.text(); }

int64_t restride_dtype_size(int32_t dtype) {
  return dtype >= 0 && dtype < RESTRIDE_BYTES ? restride::size_bytes(static_cast<restride::DType>(dtype)) : 0;
}

const char* restride_dtype_name(int32_t dtype) {
  const bool known = dtype >= 0 && dtype <= RESTRIDE_BYTES;
  return restride::name(static_cast<restride::DType>(known ? dtype : 255)).data();  // a view of a literal
}

restride_status restride_dtype_parse(const char* name, int32_t* dtype, int64_t* element_bytes) {
  return guarded([&] {
    require(name != nullptr && dtype != nullptr, "name or dtype is NULL");
    const restride::Element element = restride::element_named(name);
    *dtype = static_cast<int32_t>(element.dtype);
    if (element_bytes != nullptr) *element_bytes = element.size_bytes;
  });
}

restride_status restride_dense(restride_view* out, const void* data, int32_t dtype, int64_t element_bytes, int32_t rank,
                               const int64_t* extents, int32_t order) {
  return guarded([&] {
    check_view(out, "out");
    require(order == RESTRIDE_ROW_MAJOR || order == RESTRIDE_COLUMN_MAJOR, "order is no restride_order");
    const restride_tensor t = described(dtype, element_bytes, rank, extents, nullptr);
    restride::Layout layout = layout_of(&t, "out");
    if (order == RESTRIDE_COLUMN_MAJOR) {
      restride::Shape reversed;
      for (const restride::Mode& m : layout.modes) reversed.push_back(m.extent);
      std::reverse(reversed.begin(), reversed.end());
      layout = restride::contiguous(layout.element, reversed);
      layout.modes.reverse();
    }
    put(out, data, 0, layout);
  });
}

restride_status restride_strided(restride_view* out, const void* data, int32_t dtype, int64_t element_bytes,
                                 int32_t rank, const int64_t* extents, const int64_t* strides_bytes) {
  return guarded([&] {
    check_view(out, "out");
    require(strides_bytes != nullptr || rank == 0, "strides_bytes is NULL; restride_dense needs none");
    const restride_tensor t = described(dtype, element_bytes, rank, extents, strides_bytes);
    put(out, data, 0, layout_of(&t, "out"));
  });
}

restride_status restride_permute(restride_view* out, const restride_tensor* in, const int64_t* axes, int32_t count) {
  return see(out, in, [&](restride::Layout l) {
    if (axes != nullptr || count != 0) return restride::permute(l, list_of(axes, count, "axes"));
    l.modes.reverse();
    return l;
  });
}

restride_status restride_slice(restride_view* out, const restride_tensor* in, const char* slices) {
  return see(out, in, [&](const restride::Layout& l) {
    require(slices != nullptr, "slices is NULL; \"\" leaves all modes whole");
    return restride::slice(l, entries_of(slices));
  });
}

restride_status restride_flip(restride_view* out, const restride_tensor* in, int32_t mode) {
  return see(out, in, [&](const restride::Layout& l) { return restride::flip(l, mode); });
}

restride_status restride_reshape(restride_view* out, const restride_tensor* in, const int64_t* extents, int32_t rank) {
  return see(out, in,
             [&](const restride::Layout& l) { return restride::reshape(l, list_of(extents, rank, "extents")); });
}

restride_status restride_broadcast(restride_view* out, const restride_tensor* in, const int64_t* extents,
                                   int32_t rank) {
  return see(out, in,
             [&](const restride::Layout& l) { return restride::broadcast_to(l, list_of(extents, rank, "extents")); });
}

restride_status restride_rearrange(restride_view* source, restride_view* result, restride_view* merged,
                                   const restride_tensor* in, const char* pattern, const char* sizes) {
  return guarded([&] {
    check_view(source, "source");
    if (result != nullptr) check_view(result, "result");
    if (merged != nullptr) check_view(merged, "merged");
    require(source != result && source != merged && (result == nullptr || result != merged),
            "source, result and merged are to be filled, and two of them are one; give each a view of its own");
    require(pattern != nullptr, "pattern is NULL");
    const restride::Layout layout = layout_of(in, "in");
    const restride::Rearrangement r = restride::rearrange(layout, pattern, sizes_of(sizes));
    const restride::Layout dense = r.result(layout.element);
    const restride::Layout shape = restride::contiguous(layout.element, r.shape);
    put(source, in->data, in->align_bytes, r.source);
    for (const auto& [view, its] : {std::pair{result, &dense}, std::pair{merged, &shape}}) {
      if (view == nullptr) continue;
      put(view, nullptr, 0, *its);
      view->tensor.strides_bytes = nullptr;  // contiguous, whatever dtype the caller gives it
    }
  });
}

restride_status restride_copy(const restride_tensor* dst, const restride_tensor* src, const restride_options* options) {
  return guarded([&] {
    restride::Executor executor;
    const restride::Layout dst_layout = layout_of(dst, "dst");
    const restride::Layout src_layout = layout_of(src, "src");
    restride::copy({dst->data, dst_layout}, {src->data, src_layout}, options_of(options, executor));
  });
}

restride_status restride_plan_create(restride_plan** plan, const restride_tensor* dst, const restride_tensor* src,
                                     const restride_options* options) {
  if (plan != nullptr) *plan = nullptr;
  return guarded([&] {
    require(plan != nullptr, "plan is NULL");
    *plan = new restride_plan(dst, src, options);
  });
}

restride_status restride_plan_run(const restride_plan* plan, void* dst, const void* src,
                                  const restride_options* options) {
  int device_error = 0;
  const restride_status status = guarded([&] {
    require(plan != nullptr, "plan is NULL");
    require((dst != nullptr && src != nullptr) || plan->plan.dst().elements() == 0, "dst or src is NULL");
    if (options == nullptr) {
      device_error = plan->plan.run(dst, src, plan->options);
    } else {
      restride::Executor executor;
      device_error = plan->plan.run(dst, src, options_of(options, executor));
    }
  });
  return status != RESTRIDE_OK ? status : status_of_launch(device_error);
}

restride_status restride_plan_run_many(const restride_plan* plan, void* const* dst, const void* const* src,
                                       int64_t count, const restride_options* options) {
  int device_error = 0;
  const restride_status status = guarded([&] {
    require(plan != nullptr, "plan is NULL");
    require(count >= 0, "count is negative");
    require((dst != nullptr && src != nullptr) || count == 0, "dst or src is NULL");
    const auto n = static_cast<std::size_t>(count);
    restride::Executor executor;
    device_error =
        plan->plan.run_many({dst, n}, {src, n}, options == nullptr ? plan->options : options_of(options, executor));
  });
  return status != RESTRIDE_OK ? status : status_of_launch(device_error);
}

void restride_plan_destroy(restride_plan* plan) { delete plan; }

restride_status restride_plan_explain(const restride_plan* plan, char* buffer, size_t capacity, size_t* length) {
  return guarded([&] {
    require(plan != nullptr, "plan is NULL");
    write_text(plan->plan.explain(), buffer, capacity, length);
  });
}

restride_status restride_plan_serialize(const restride_plan* plan, char* buffer, size_t capacity, size_t* length) {
  return guarded([&] {
    require(plan != nullptr, "plan is NULL");
    write_text(plan->plan.serialize(), buffer, capacity, length);
  });
}

restride_status restride_plan_family(const restride_plan* plan, char* buffer, size_t capacity, size_t* length) {
  return guarded([&] {
    require(plan != nullptr, "plan is NULL");
    write_text(plan->plan.family(), buffer, capacity, length);
  });
}

restride_status restride_plan_kernel(const restride_plan* plan, char* buffer, size_t capacity, size_t* length) {
  return guarded([&] {
    require(plan != nullptr, "plan is NULL");
    write_text(plan->plan.kernel(), buffer, capacity, length);
  });
}

restride_status restride_plan_deserialize(restride_plan** plan, const char* json) {
  if (plan != nullptr) *plan = nullptr;
  return guarded([&] {
    require(plan != nullptr && json != nullptr, "plan or json is NULL");
    *plan = new restride_plan(restride::Plan::deserialize(json));
  });
}

restride_status restride_layout_print(const restride_tensor* tensor, char* buffer, size_t capacity, size_t* length) {
  return guarded([&] { write_text(restride::to_string(layout_of(tensor, "tensor")), buffer, capacity, length); });
}

restride_status restride_layout_parse(const char* text, restride_tensor* tensor, int64_t* extents,
                                      int64_t* strides_bytes, int32_t capacity) {
  return guarded([&] {
    require(text != nullptr && tensor != nullptr, "text or tensor is NULL");
    require(capacity >= 0, "capacity is negative; give arrays of 64, which any layout fits");
    require(capacity == 0 || (extents != nullptr && strides_bytes != nullptr),
            "extents or strides_bytes is NULL with a capacity above 0");
    check_struct_size(tensor->struct_size, sizeof(restride_tensor), "tensor", "RESTRIDE_TENSOR_INIT");
    const restride::Layout layout = restride::parse_layout(text);
    if (layout.rank() > capacity)
      throw restride::ShapeError("the layout has rank " + std::to_string(layout.rank()) + " and the arrays hold " +
                                 std::to_string(capacity) + ": give arrays of 64, which any layout fits");
    for (int i = 0; i < layout.rank(); ++i) {
      extents[i] = layout.modes[i].extent;
      strides_bytes[i] = layout.modes[i].stride_bytes;
    }
    *tensor = tensor_of(layout, extents, strides_bytes);
  });
}

restride_status restride_byte_range(const restride_tensor* tensor, int64_t* first, int64_t* last) {
  return guarded([&] {
    require(first != nullptr && last != nullptr, "first or last is NULL");
    const auto [from, to] = restride::byte_range(layout_of(tensor, "tensor"));
    *first = from;
    *last = to;
  });
}

}  // extern "C"
