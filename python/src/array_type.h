// How arrays of a type show their memory: a type is asked once.
#pragma once

#include "python/src/dlpack.h"
#include "python/src/py.h"

namespace restride::python {

enum class Route { kNone, kNumpy, kExchange, kDlpack, kBuffer, kInterface };

struct ArrayType {
  PyTypeObject* type = nullptr;
  Route route = Route::kNone;
  const DLPackExchangeAPI* api = nullptr;
  bool torch = false;  ///< a torch.Tensor, whose flags say more than DLPack carries
  bool jax = false;    ///< an array of JAX: immutable, which its capsules do not say
};

/// Errors: TypeError for an array that may have no memory of its own, or whose memory is not all of it (masked arrays).
ArrayType array_type_of(PyObject* x);

}  // namespace restride::python
