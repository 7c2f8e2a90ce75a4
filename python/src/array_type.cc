#include "python/src/array_type.h"

#include <vector>

#include "python/src/numpy_array.h"

namespace restride::python {
namespace {

PyObject* as_object(PyTypeObject* type) { return reinterpret_cast<PyObject*>(type); }

bool is_subclass(PyTypeObject* type, PyObject* of) {
  const int yes = PyObject_IsSubclass(as_object(type), of);
  if (yes < 0) throw Raised{};
  return yes != 0;
}

/// The C exchange API of a type, of a version that is known here; nullptr where there is none.
const DLPackExchangeAPI* exchange_api(PyTypeObject* type) {
  const Ref capsule = attribute_or_none(as_object(type), "__dlpack_c_exchange_api__");
  if (!capsule || PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api") == 0) return nullptr;
  auto* header = static_cast<DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  while (header != nullptr && header->version.major > DLPACK_MAJOR_VERSION) header = header->prev_api;
  if (header == nullptr || header->version.major != DLPACK_MAJOR_VERSION) return nullptr;
  return reinterpret_cast<const DLPackExchangeAPI*>(header);
}

ArrayType classify(PyObject* x) {
  PyTypeObject* type = Py_TYPE(x);
  ArrayType info{type, Route::kNone, nullptr, false, false};
  if (PyObject* numpy = imported("numpy")) {
    const Ref ndarray = own(PyObject_GetAttrString(numpy, "ndarray"));
    if (is_subclass(type, ndarray.get())) {
      if (attribute_or_none(as_object(type), "_defaultmask"))
        raise(PyExc_TypeError,
              "a masked array, whose mask a copy would lose; give x.data, or x.filled(value), which makes a new array");
      info.route = numpy_layout_is_known() ? Route::kNumpy : Route::kInterface;
      return info;
    }
  }
  if (PyObject* torch = imported("torch")) {
    const Ref tensor = attribute_or_none(torch, "Tensor");  // not there while torch is being imported
    if (tensor && is_subclass(type, tensor.get())) {
      info.torch = true;
      // A subclass may be no memory at all (fake, functional, distributed tensors).
      const Ref parameter = own(PyObject_GetAttrString(own(PyObject_GetAttrString(torch, "nn")).get(), "Parameter"));
      if (as_object(type) != tensor.get() && as_object(type) != parameter.get()) {
        const Ref mine = own(PyObject_GetAttrString(as_object(type), "__torch_dispatch__"));
        const Ref plain = own(PyObject_GetAttrString(tensor.get(), "__torch_dispatch__"));
        const Ref off =
            attribute_or_none(own(PyObject_GetAttrString(torch, "_C")).get(), "_disabled_torch_dispatch_impl");
        if (mine.get() != plain.get() && mine.get() != off.get())
          raise(PyExc_TypeError, "a " + type_name(x) +
                                     ", which handles operators itself and may have no memory of its own; give a plain "
                                     "torch.Tensor, or call restride.torch's operators, which dispatch");
      }
    }
  }
  info.api = exchange_api(type);
  if (info.api != nullptr) {
    info.route = Route::kExchange;
  } else if (attribute_or_none(as_object(type), "__dlpack__")) {
    info.route = Route::kDlpack;
  } else if (PyObject_CheckBuffer(x) != 0) {
    info.route = Route::kBuffer;
  } else {
    info.route = Route::kInterface;
  }
  const std::string name = type_name(x);
  info.jax = info.route != Route::kInterface && (name.rfind("jax.", 0) == 0 || name.rfind("jaxlib.", 0) == 0);
  return info;
}

}  // namespace

ArrayType array_type_of(PyObject* x) {
  static std::vector<ArrayType> known;  // the types that came first; under the GIL
  PyTypeObject* type = Py_TYPE(x);
  for (const ArrayType& k : known)
    if (k.type == type) return k;
  const ArrayType info = classify(x);
  if (known.size() < 16) {
    Py_INCREF(as_object(type));
    known.push_back(info);
  }
  return info;
}

}  // namespace restride::python
