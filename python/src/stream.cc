#include "python/src/stream.h"

namespace restride::python {
namespace {

Ref handle_of(PyObject* stream) {
  for (const char* name : {"cuda_stream", "ptr", "handle"})  // torch, CuPy, Numba and cuda.core
    if (Ref handle = attribute_or_none(stream, name)) return handle;
  if (const Ref protocol = attribute_or_none(stream, "__cuda_stream__")) {
    const Ref pair = own(PyObject_CallNoArgs(protocol.get()));
    return own(PySequence_GetItem(pair.get(), 1));
  }
  return borrow(stream);
}

}  // namespace

void* pointer_of(PyObject* handle, const char* what) {
  if (const Ref value = attribute_or_none(handle, "value"))  // ctypes.c_void_p
    return value.get() == Py_None ? nullptr : reinterpret_cast<void*>(integer_of(value.get(), what));
  return reinterpret_cast<void*>(integer_of(handle, what));
}

Stream stream_of(PyObject* stream) {
  if (stream == nullptr || stream == Py_None) return {};
  Stream out;
  out.known = out.ordered_by_caller = true;
  out.handle = pointer_of(handle_of(stream).get(), "stream");
  return out;
}

}  // namespace restride::python
