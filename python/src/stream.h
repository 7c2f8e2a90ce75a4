// CUDA streams, as frameworks name them.
#pragma once

#include "python/src/py.h"

namespace restride::python {

/// A CUDA stream by its handle. Unknown: nobody named one.
struct Stream {
  bool known = false;
  void* handle = nullptr;
  /// What a producer is told (__dlpack__'s `stream`): -1 where the caller orders things itself.
  bool ordered_by_caller = false;
  /// The exchange API whose current stream it is, of which device; no other array of both is asked again.
  const void* api = nullptr;
  int device = -1;
};

/// `stream=` of a call: None, a handle, or an object of torch, CuPy, Numba or cuda.core. Errors: TypeError.
Stream stream_of(PyObject* stream);

/// The address that an integer or a ctypes.c_void_p holds; `what` names it in messages. Errors: TypeError.
void* pointer_of(PyObject* handle, const char* what);

}  // namespace restride::python
