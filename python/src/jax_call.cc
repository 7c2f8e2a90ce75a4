// One operand, one result, both dense in C order, as XLA has them. The attributes `extents`, `strides` and `offset` (in
// bytes) describe a view of the operand with as many elements as the result, which holds them in C order; with `into`
// they describe a view of the result instead, and the operand holds its elements. Leading axes that vmap has added to
// both are in front of the view.
#include "python/src/jax_call.h"

#include <algorithm>
#include <array>
#include <restride/copy.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "python/src/xla_ffi.h"

namespace restride::python {
namespace {

/// XLA's numbers of its types. Those that restride does not know move as bytes; 0 where the size is unknown, too.
Element element_of(std::int32_t type) {
  switch (type) {
    case 1: return Element(DType::kBool);
    case 2: return Element(DType::kI8);
    case 3: return Element(DType::kI16);
    case 4: return Element(DType::kI32);
    case 5: return Element(DType::kI64);
    case 6: return Element(DType::kU8);
    case 7: return Element(DType::kU16);
    case 8: return Element(DType::kU32);
    case 9: return Element(DType::kU64);
    case 10: return Element(DType::kF16);
    case 11: return Element(DType::kF32);
    case 12: return Element(DType::kF64);
    case 15: return Element(DType::kC64);
    case 16: return Element(DType::kBF16);
    case 18: return Element(DType::kC128);
    case 19: return Element(DType::kF8E5M2);
    case 20: return Element(DType::kF8E4M3);
    case 23:  // f8e4m3b11fnuz
    case 24:  // f8e5m2fnuz
    case 25:  // f8e4m3fnuz
    case 28:  // f8e4m3
    case 29:  // f8e3m4
    case 33:  // f8e8m0fnu
      return Element::bytes(1);
    default: throw std::invalid_argument("restride moves no elements of less than a byte; convert them before");
  }
}
constexpr std::int32_t kS64 = 5;

const xla::Buffer& buffer_of(const xla::Values& values, const char* what) {
  if (values.size != 1 || values.types[0] != 1) throw std::invalid_argument(std::string("restride takes one ") + what);
  return *static_cast<const xla::Buffer*>(values.values[0]);
}

std::int64_t elements(const xla::Buffer& b) {
  std::int64_t n = 1;
  for (std::int64_t i = 0; i < b.rank; ++i) n *= b.extents[i];
  return n;
}

/// An attribute of 64-bit integers. XLA hands an empty array over without a type.
Extents integers_of(const xla::Attributes& all, std::string_view name) {
  for (std::int64_t i = 0; i < all.size; ++i) {
    if (std::string_view(all.names[i]->data, all.names[i]->size) != name) continue;
    if (all.types[i] == xla::kArray) {
      const auto& array = *static_cast<const xla::Array*>(all.values[i]);
      if (array.dtype == kS64 || array.size == 0) return {static_cast<const std::int64_t*>(array.data), array.size};
    } else if (all.types[i] == xla::kScalar) {
      const auto& scalar = *static_cast<const xla::Scalar*>(all.values[i]);
      if (scalar.dtype == kS64) return {static_cast<const std::int64_t*>(scalar.value), 1};
    }
  }
  throw std::invalid_argument("restride: an attribute is missing: " + std::string(name));
}

/// `batch` times the view, and what holds its elements in C order.
std::pair<Layout, Layout> layouts_of(const xla::Attributes& attributes, const xla::Buffer& viewed, Element of_viewed,
                                     Element of_dense, std::int64_t dense_elements) {
  const Extents extents = integers_of(attributes, "extents"), strides = integers_of(attributes, "strides");
  if (extents.size() != strides.size()) throw std::invalid_argument("restride: as many extents as strides");
  Layout view;
  view.element = of_viewed;
  view.offset_bytes = integers_of(attributes, "offset")[0];
  Shape shape;
  std::int64_t in_view = 1;
  for (const std::int64_t n : extents) in_view *= n;
  const std::int64_t batch = in_view == 0 ? 1 : dense_elements / in_view;
  if (batch != 1) {
    view.modes.push_back({batch, elements(viewed) / batch * of_viewed.size_bytes});
    shape.push_back(batch);
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    view.modes.push_back({extents[i], strides[i]});
    shape.push_back(extents[i]);
  }
  validate(view);
  // The attributes come from restride.jax, but a wrong byte must not be touched for those that do not.
  const auto [first, last] = byte_range(view);
  if (first < 0 || last > elements(viewed) * of_viewed.size_bytes || in_view * batch != dense_elements)
    throw std::invalid_argument("restride: the view does not fit the arrays");
  return {view, contiguous(of_dense, shape)};
}

void run(const xla::Call& call, Options options) {
  const xla::Buffer &src = buffer_of(call.arguments, "operand"), &dst = buffer_of(call.results, "result");
  const bool same = src.dtype == dst.dtype;
  const Element from = element_of(src.dtype), to = element_of(dst.dtype);
  if (!same && (from.dtype == DType::kBytes || to.dtype == DType::kBytes))
    throw std::invalid_argument("restride does not convert between these dtypes; use astype before");
  if (integers_of(call.attributes, "into")[0] != 0) {
    const auto [view, dense] = layouts_of(call.attributes, dst, to, from, elements(src));
    copy(Tensor{dst.data, view}, ConstTensor(src.data, dense), options);
  } else {
    const auto [view, dense] = layouts_of(call.attributes, src, from, to, elements(dst));
    copy(Tensor{dst.data, dense}, ConstTensor(src.data, view), options);
  }
}

xla::Error* failed(const xla::Call& call, const char* message, xla::ErrorCode code) noexcept {
  xla::ErrorCreate create{sizeof(xla::ErrorCreate), nullptr, message, code};
  return call.api->error_create(&create);
}

/// Answers the question for metadata, and the stages before the first execution with success.
bool only_asked(xla::Call* call) noexcept {
  for (xla::Extension* e = call->extensions; e != nullptr; e = e->next) {
    if (e->type != xla::kMetadataExtension) continue;
    xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension*>(e)->metadata;
    metadata.api_version.major = call->api->api_version.major;  // what is read here no later minor version moves
    metadata.api_version.minor = call->api->api_version.minor;
    metadata.traits = xla::kCommandBufferCompatible;
    return true;
  }
  return call->stage != xla::kExecute;
}

template <class Choose>
xla::Error* handle(xla::Call* call, Choose choose) noexcept {
  if (only_asked(call)) return nullptr;
  try {
    Options options;
    if (xla::Error* error = choose(*call, &options); error != nullptr) return error;
    run(*call, options);
    return nullptr;
  } catch (const Error& e) {
    return failed(*call, e.what(), xla::kInvalidArgument);
  } catch (const std::exception& e) {
    return failed(*call, e.what(), xla::kInvalidArgument);
  } catch (...) {
    return failed(*call, "restride failed", xla::kInternal);
  }
}

extern "C" xla::Error* restride_jax_cpu(xla::Call* call) {
  return handle(call, [](const xla::Call&, Options* options) -> xla::Error* {
    options->device = DeviceKind::kCpu;
    return nullptr;
  });
}

extern "C" xla::Error* restride_jax_cuda(xla::Call* call) {
  return handle(call, [](const xla::Call& c, Options* options) -> xla::Error* {
    xla::StreamGet get{sizeof(xla::StreamGet), nullptr, c.context, nullptr};
    if (xla::Error* error = c.api->stream_get(&get); error != nullptr) return error;
    options->device = DeviceKind::kCuda;
    options->stream = get.stream;
    return nullptr;
  });
}

Ref capsule_of(xla::Error* (*handler)(xla::Call*)) {
  return own(PyCapsule_New(reinterpret_cast<void*>(handler), "xla._CUSTOM_CALL_TARGET", nullptr));
}

}  // namespace

PyObject* jax_targets(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Ref cpu = capsule_of(restride_jax_cpu), cuda = capsule_of(restride_jax_cuda);
    return Py_BuildValue("{s:O,s:O}", "cpu", cpu.get(), "CUDA", cuda.get());
  });
}

}  // namespace restride::python
