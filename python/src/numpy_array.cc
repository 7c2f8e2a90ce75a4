#include "python/src/numpy_array.h"

namespace restride::python {
namespace {

bool agrees(PyObject* array, long long data, bool writeable) {
  const NumpyArray& a = *reinterpret_cast<const NumpyArray*>(array);
  const Ref dtype = own(PyObject_GetAttrString(array, "dtype"));
  return a.nd == 2 && reinterpret_cast<long long>(a.data) == data && a.dimensions[0] == 3 && a.dimensions[1] == 2 &&
         a.strides[0] == -4 && a.strides[1] == 12 && a.descr == dtype.get() &&
         ((a.flags & NumpyArray::kWriteable) != 0) == writeable;
}

/// Makes zeros((2, 3), float32)[:, ::-1].T and reads it both ways, also when it may not be written any more.
bool compare() {
  PyObject* numpy = imported("numpy");
  if (numpy == nullptr) return false;
  const Ref zeros = own(PyObject_CallMethod(numpy, "zeros", "((ii)s)", 2, 3, "float32"));
  const Ref turned = own(PyObject_CallMethod(numpy, "flip", "Oi", zeros.get(), 1));
  const Ref array = own(PyObject_CallMethod(turned.get(), "transpose", nullptr));
  const Ref interface = own(PyObject_GetAttrString(array.get(), "__array_interface__"));
  PyObject* pair = PyDict_GetItemString(interface.get(), "data");
  if (pair == nullptr) return false;
  const long long data = integer_of(PyTuple_GetItem(pair, 0), "data");
  if (!agrees(array.get(), data, true)) return false;
  const Ref flags = own(PyObject_GetAttrString(array.get(), "flags"));
  if (PyObject_SetAttrString(flags.get(), "writeable", Py_False) != 0) throw Raised{};
  return agrees(array.get(), data, false);
}

}  // namespace

bool numpy_layout_is_known() {
  static const bool known = compare();
  return known;
}

}  // namespace restride::python
