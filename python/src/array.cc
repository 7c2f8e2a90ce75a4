#include "python/src/array.h"

#include "python/src/array_type.h"
#include "python/src/numpy_array.h"
#include "python/src/torch_tensor.h"

namespace restride::python {
namespace {

bool is_instance(PyObject* x, const char* module, const char* type) {
  PyObject* found = imported(module);
  const Ref of = found == nullptr ? Ref() : attribute_or_none(found, type);
  const int yes = of ? PyObject_IsInstance(x, of.get()) : 0;
  if (yes < 0) throw Raised{};
  return yes != 0;
}

/// Whether an array whose capsule cannot say so may be written: it is of a library that has no read-only arrays, or its
/// array interface says it.
bool may_be_written(PyObject* x) {
  if (is_instance(x, "torch", "Tensor") || is_instance(x, "cupy", "ndarray")) return true;
  for (const char* name : {"__cuda_array_interface__", "__array_interface__"}) {
    const Ref interface = attribute_or_none(x, name);
    if (!interface || PyDict_Check(interface.get()) == 0) continue;
    PyObject* data = PyDict_GetItemString(interface.get(), "data");
    if (data != nullptr && PyTuple_Check(data) != 0 && PyTuple_Size(data) == 2)
      return !is_true(borrow(PyTuple_GetItem(data, 1)));
  }
  return false;
}

void destroy(DLManagedTensorVersioned* t) {
  if (t != nullptr && t->deleter != nullptr) t->deleter(t);
}
void destroy(DLManagedTensor* t) {
  if (t != nullptr && t->deleter != nullptr) t->deleter(t);
}

/// The integers of a sequence, at most kMaxRank of them.
int read_integers(PyObject* sequence, const char* what, std::int64_t* out) {
  const Ref tuple = own(PySequence_Tuple(sequence));
  const Py_ssize_t n = PyTuple_Size(tuple.get());
  if (n > kMaxRank) raise(PyExc_ValueError, std::string(what) + " has more than 64 axes");
  for (Py_ssize_t i = 0; i < n; ++i) out[i] = integer_of(PyTuple_GetItem(tuple.get(), i), what);
  return static_cast<int>(n);
}

/// The words of the exception that is set, which is cleared.
std::string taken_message() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref own_type(type), own_value(value), own_trace(trace);
  return str(value);
}

}  // namespace

std::string name_of(DLDevice d) {
  const std::string id = d.device_id >= 0 ? ":" + std::to_string(d.device_id) : "";
  switch (d.device_type) {
    case kDLCPU: return "the CPU";
    case kDLCUDAHost: return "the CPU (pinned)";
    case kDLCUDA: return "cuda" + id;
    case kDLCUDAManaged: return "managed memory";
    case kDLROCM: return "rocm" + id;
    case kDLMetal: return "metal" + id;
    case kDLOneAPI: return "oneapi" + id;
    default: return "a device of DLPack's type " + std::to_string(static_cast<int>(d.device_type));
  }
}

Array::Array(PyObject* x, const char* who, Access access, const Stream& stream) : who_(who), object_(x) {
  ArrayType type;
  try {
    type = array_type_of(x);
  } catch (const Raised&) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw;
    raise(PyExc_TypeError, std::string(who) + " is " + taken_message());
  }
  if (type.jax && access == Access::kWrite)
    raise(PyExc_ValueError, std::string(who) +
                                " is a JAX array, and JAX arrays are immutable; use the result of contiguous, "
                                "permute_copy or rearrange, which is a new array, or a function of restride.jax");
  try {
    switch (type.route) {
      case Route::kNumpy: open_numpy(x, access); break;
      case Route::kExchange:
        api_ = type.api;
        open_exchange(x, access, stream);
        break;
      case Route::kDlpack: open_dlpack(x, access, stream); break;
      case Route::kBuffer: open_buffer(x, access); break;
      default: {
        if (const Ref cuda = attribute_or_none(x, "__cuda_array_interface__")) {
          device_ = {kDLCUDA, -1};
          open_interface(x, cuda.get(), access);
        } else if (const Ref host = attribute_or_none(x, "__array_interface__")) {
          open_interface(x, host.get(), access);
        } else {
          raise(PyExc_TypeError,
                std::string(who) + " is of type " + type_name(x) +
                    ", which is no array: it has no __dlpack__, no buffer, no __cuda_array_interface__ "
                    "and no __array_interface__; give a NumPy array or a tensor");
        }
      }
    }
    if (type.torch) check_torch_tensor(x, who, access == Access::kWrite, kind_);
    if (!on_cuda() && device_.device_type != kDLCPU && device_.device_type != kDLCUDAHost)
      raise(PyExc_BufferError, std::string(who) + " is on " + name_of(device_) +
                                   "; restride copies in the memory of CPUs and of NVIDIA GPUs: bring it there first");
  } catch (...) {
    release();  // a constructor that throws runs no destructor
    throw;
  }
  layout_.element = kind_.element;
}

Array::~Array() { release(); }

void Array::release() noexcept {
  if (managed_ == nullptr && managed_old_ == nullptr && !has_buffer_) return;
  // Deleters may run Python code, which must not meet the exception that is on its way.
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  destroy(std::exchange(managed_, nullptr));
  destroy(std::exchange(managed_old_, nullptr));
  if (std::exchange(has_buffer_, false)) PyBuffer_Release(&buffer_);
  PyErr_Restore(type, value, trace);
}

void Array::require_writable(bool read_only, PyObject* x) const {
  if (read_only)
    raise(PyExc_ValueError, std::string(who_) + " (" + type_name(x) +
                                ") is read-only; give an array that may be written, x.copy() for instance");
}

/// The framework gives no memory: a BufferError with the first line of its reasons.
void Array::refuse_export(PyObject* x) const {
  const std::string why = taken_message();
  raise(PyExc_BufferError, std::string(who_) + " (" + type_name(x) + ") has no strided memory to share: " +
                               why.substr(0, why.find('\n')) + "; give a strided tensor of the CPU or of a GPU");
}

void Array::open_numpy(PyObject* x, Access access) {
  const NumpyArray& a = *reinterpret_cast<const NumpyArray*>(x);
  kind_ = kind_of_descr(a.descr, who_);
  if (access == Access::kWrite && (a.flags & NumpyArray::kWriteable) == 0) require_writable(true, x);
  data_ = a.data;
  if (a.nd > kMaxRank) raise(PyExc_ValueError, std::string(who_) + " has more than 64 axes");
  for (int i = 0; i < a.nd; ++i) layout_.modes.push_back({a.dimensions[i], a.strides[i]});
}

void Array::take(const DLTensor& t, PyObject* x, Access access) {
  device_ = t.device;
  kind_ = kind_of(t.dtype, who_);
  data_ = t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
  if (t.ndim < 0 || t.ndim > kMaxRank)
    raise(PyExc_BufferError, std::string(who_) + " has " + std::to_string(t.ndim) + " axes; restride takes up to 64");
  const std::int64_t size = kind_.element.size_bytes;
  layout_.modes.resize(static_cast<std::size_t>(t.ndim));
  std::int64_t dense = size;
  bool fits = true;
  for (int i = t.ndim; i-- > 0;) {
    Mode& mode = layout_.modes[static_cast<std::size_t>(i)];
    mode.extent = t.shape[i];
    mode.stride_bytes = dense;
    if (t.strides != nullptr)
      fits &= !__builtin_mul_overflow(t.strides[i], size, &mode.stride_bytes);
    else
      fits &= !__builtin_mul_overflow(dense, t.shape[i] > 0 ? t.shape[i] : 1, &dense);
  }
  if (fits) return;
  // CuPy 14 divides negative strides as if they were unsigned; its array interface has them right.
  const Ref interface = attribute_or_none(x, "__cuda_array_interface__");
  if (!interface) raise(PyExc_ValueError, std::string(who_) + " has strides that do not fit 63 bits");
  layout_.modes.clear();
  open_interface(x, interface.get(), access);
}

void Array::open_exchange(PyObject* x, Access access, const Stream& stream) {
  DLTensor tensor;
  if (api_->dltensor_from_py_object_no_sync != nullptr) {
    if (api_->dltensor_from_py_object_no_sync(x, &tensor) != 0) refuse_export(x);
  } else {
    if (api_->managed_tensor_from_py_object_no_sync(x, &managed_) != 0) refuse_export(x);
    if (access == Access::kWrite) require_writable((managed_->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, x);
    tensor = managed_->dl_tensor;
  }
  take(tensor, x, access);
  // The copy runs on another stream than this framework's own: its __dlpack__ orders the two.
  if (!stream.known || stream.ordered_by_caller || !on_cuda()) return;
  if (stream.api == api_ && stream.device == device_.device_id) return;
  if (current_stream().handle != stream.handle) open_dlpack(x, access, stream);
}

void Array::open_dlpack(PyObject* x, Access access, const Stream& stream) {
  const Ref place = own(PyObject_CallMethod(x, "__dlpack_device__", nullptr));
  std::int64_t device[kMaxRank] = {};
  if (read_integers(place.get(), "__dlpack_device__()", device) != 2)
    raise(PyExc_BufferError, std::string(who_) + ".__dlpack_device__() gives no pair of type and number");
  device_ = {static_cast<DLDeviceType>(device[0]), static_cast<std::int32_t>(device[1])};
  const Ref call = own(PyObject_GetAttrString(x, "__dlpack__"));
  const Ref none = own(PyTuple_New(0));
  const Ref named = own(PyDict_New());
  if (on_cuda()) {
    const Stream at = stream.known ? stream : current_stream();
    // DLPack's numbers: -1 asks for no ordering, 1 is the legacy default stream, whose handle is 0.
    const auto handle = reinterpret_cast<long long>(at.handle);
    const Ref number = own(PyLong_FromLongLong(at.ordered_by_caller ? -1 : handle == 0 ? 1 : handle));
    if (PyDict_SetItemString(named.get(), "stream", number.get()) != 0) throw Raised{};
  }
  const Ref version = own(Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION));
  if (PyDict_SetItemString(named.get(), "max_version", version.get()) != 0) throw Raised{};
  Ref capsule(PyObject_Call(call.get(), none.get(), named.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // of before DLPack 1.0: it knows no versions
    PyErr_Clear();
    if (PyDict_DelItemString(named.get(), "max_version") != 0) throw Raised{};
    capsule = Ref(PyObject_Call(call.get(), none.get(), named.get()));
  }
  if (!capsule) refuse_export(x);
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned") != 0) {
    auto* t = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    if (PyCapsule_SetName(capsule.get(), "used_dltensor_versioned") != 0) throw Raised{};
    destroy(std::exchange(managed_, t));
    if (t->version.major != DLPACK_MAJOR_VERSION)
      raise(PyExc_BufferError, std::string(who_) + " comes by DLPack " + std::to_string(t->version.major) +
                                   "; restride knows version 1: update restride");
    if (access == Access::kWrite) {
      require_writable((t->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, x);
      if ((t->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0)
        raise(PyExc_BufferError, std::string(who_) +
                                     " was copied by its own __dlpack__, and what is written to the copy "
                                     "would be lost; give an array whose memory can be shared");
    }
    take(t->dl_tensor, x, access);
  } else if (PyCapsule_IsValid(capsule.get(), "dltensor") != 0) {
    auto* t = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    if (PyCapsule_SetName(capsule.get(), "used_dltensor") != 0) throw Raised{};
    managed_old_ = t;
    // The exchange API, where the type has it, was asked before, and is of arrays that may be written.
    if (access == Access::kWrite && api_ == nullptr && !may_be_written(x))
      raise(PyExc_ValueError, std::string(who_) + " (" + type_name(x) +
                                  ") comes by a DLPack capsule without a version, which cannot say that it may be "
                                  "written; if it may, give torch.from_dlpack(x), which has the same memory");
    take(t->dl_tensor, x, access);
  } else {
    raise(PyExc_BufferError, std::string(who_) + ".__dlpack__() gave no fresh DLPack capsule");
  }
}

void Array::open_buffer(PyObject* x, Access access) {
  if (PyObject_GetBuffer(x, &buffer_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) throw Raised{};
  has_buffer_ = true;
  if (access == Access::kWrite) require_writable(buffer_.readonly != 0, x);
  kind_ = kind_of_format(buffer_.format, buffer_.itemsize, who_);
  data_ = buffer_.buf;
  if (buffer_.ndim > kMaxRank) raise(PyExc_ValueError, std::string(who_) + " has more than 64 axes");
  if (buffer_.ndim > 0 && buffer_.shape == nullptr)
    raise(PyExc_BufferError, std::string(who_) + " gives a buffer without a shape");
  if (buffer_.strides == nullptr) {  // ctypes gives none, though asked
    layout_ = contiguous(kind_.element, Extents(reinterpret_cast<std::int64_t*>(buffer_.shape), buffer_.ndim));
    return;
  }
  for (int i = 0; i < buffer_.ndim; ++i) layout_.modes.push_back({buffer_.shape[i], buffer_.strides[i]});
}

void Array::open_interface(PyObject* x, PyObject* interface, Access access) {
  const auto item = [&](const char* key) { return PyDict_GetItemString(interface, key); };
  if (PyDict_Check(interface) == 0 || item("shape") == nullptr || item("typestr") == nullptr)
    raise(PyExc_TypeError,
          std::string(who_) + " (" + type_name(x) + ") has an array interface without shape or typestr");
  PyObject* mask = item("mask");
  if (mask != nullptr && mask != Py_None)
    raise(PyExc_TypeError, std::string(who_) + " is a masked array, whose mask a copy would lose; give its data");
  // NumPy writes the dtypes of others as typestr V2; the dtype itself says more.
  const Ref dtype = attribute_or_none(x, "dtype");
  const bool of_numpy = dtype && type_name(dtype.get()).rfind("numpy.", 0) == 0;
  kind_ = of_numpy ? kind_of_descr(dtype.get(), who_) : kind_of_typestr(item("typestr"), who_);
  keep_ = borrow(interface);  // holds the typestr that kind_ may point to
  PyObject* data = item("data");
  if (data == nullptr || PyTuple_Check(data) == 0 || PyTuple_Size(data) != 2)
    raise(PyExc_TypeError, std::string(who_) + "'s array interface has no 'data' of (pointer, read-only)");
  data_ = reinterpret_cast<void*>(PyLong_AsUnsignedLongLong(PyTuple_GetItem(data, 0)));
  if (PyErr_Occurred() != nullptr) throw Raised{};
  if (access == Access::kWrite) require_writable(PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1, x);
  std::int64_t shape[kMaxRank], strides[kMaxRank];
  const int rank = read_integers(item("shape"), "the interface's shape", shape);
  PyObject* given = item("strides");
  if (given != nullptr && given != Py_None) {
    if (read_integers(given, "the interface's strides", strides) != rank)
      raise(PyExc_TypeError, std::string(who_) + "'s array interface has a shape and strides of different lengths");
    layout_ = strided(kind_.element, Extents(shape, rank), Extents(strides, rank));
  } else {
    layout_ = contiguous(kind_.element, Extents(shape, rank));
  }
  PyObject* stream = item("stream");
  if (device_.device_type == kDLCUDA && stream != nullptr && stream != Py_None) {
    of_interface_.known = true;
    of_interface_.handle = pointer_of(stream, "the interface's stream");
  }
}

Stream Array::current_stream() const {
  Stream out;
  if (!on_cuda()) return out;
  out.known = true;
  if (api_ != nullptr) {
    if (api_->current_work_stream(device_.device_type, device_.device_id, &out.handle) != 0) throw Raised{};
    out.api = api_;
    out.device = device_.device_id;
    return out;
  }
  if (of_interface_.known) return of_interface_;
  const std::string name = type_name(object_);
  if (name.rfind("torch.", 0) == 0) {
    const Ref cuda = own(PyObject_GetAttrString(imported("torch"), "cuda"));
    const Ref now = own(PyObject_CallMethod(cuda.get(), "current_stream", "i", device_.device_id));
    out.handle = pointer_of(own(PyObject_GetAttrString(now.get(), "cuda_stream")).get(), "stream");
  } else if (name.rfind("cupy", 0) == 0 && imported("cupy") != nullptr) {
    const Ref cuda = own(PyObject_GetAttrString(imported("cupy"), "cuda"));
    const Ref now = own(PyObject_CallMethod(cuda.get(), "get_current_stream", nullptr));
    out.handle = pointer_of(own(PyObject_GetAttrString(now.get(), "ptr")).get(), "stream");
  } else {
    out.known = false;  // the legacy default stream, unless the other side has one
  }
  return out;
}

}  // namespace restride::python
