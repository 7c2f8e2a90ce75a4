// A NumPy array as it lies in memory: the fields that NumPy's own headers inline into every extension, so they cannot
// move within NumPy 1 and 2. Read directly they cost nanoseconds; the buffer protocol costs 0.2 us an array and has no
// words for bfloat16, dates and others. The first array that comes is compared with what NumPy says of one in Python.
#pragma once

#include "python/src/py.h"

namespace restride::python {

struct NumpyArray {
  PyObject head;
  char* data;
  int nd;
  Py_ssize_t* dimensions;
  Py_ssize_t* strides;  ///< bytes
  PyObject* base;
  PyObject* descr;
  int flags;
  static constexpr int kWriteable = 0x0400;
};

/// Whether the NumPy that is imported lays its arrays out so. Otherwise __array_interface__ serves, in microseconds.
bool numpy_layout_is_known();

}  // namespace restride::python
