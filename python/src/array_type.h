// How arrays of a type show their memory. Answers are remembered.
#pragma once

#include "python/src/dlpack.h"
#include "python/src/py.h"

namespace restride::python {

/// The way by which an array's memory is found, the fastest one that its type has.
enum class Route {
  kNone,
  kNumpy,      ///< the fields of NumPy's own struct
  kExchange,   ///< DLPack's C functions, __dlpack_c_exchange_api__
  kDlpack,     ///< __dlpack__
  kBuffer,     ///< Python's buffer protocol
  kInterface,  ///< __array_interface__ or __cuda_array_interface__
};

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
