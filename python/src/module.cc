// The module restride._core: the functions of the package whose cost counts, and the library's types.
#include <restride/device.hpp>

#include "python/src/copy.h"
#include "python/src/jax_call.h"
#include "python/src/layout_type.h"
#include "python/src/plan_type.h"

namespace restride::python {
namespace {

/// What the library says of itself and of the GPUs.
PyObject* info(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    CudaStatus cuda;
    {
      const WithoutGil without(true);
      cuda = cuda_status();
    }
    Ref devices = own(PyList_New(0));
    for (const CudaDevice& d : cuda.devices) {
      const Ref one = own(Py_BuildValue(
          "{s:i,s:s,s:s,s:i,s:L,s:L}", "index", d.index, "name", d.name.c_str(), "compute_capability",
          (std::to_string(d.cc_major) + "." + std::to_string(d.cc_minor)).c_str(), "sm_count", d.sm_count,
          "memory_bytes", static_cast<long long>(d.memory_bytes), "l2_bytes", static_cast<long long>(d.l2_bytes)));
      if (PyList_Append(devices.get(), one.get()) != 0) throw Raised{};
    }
    return Py_BuildValue("{s:s,s:{s:O,s:i,s:i,s:s,s:s,s:O}}", "version", std::string(version()).c_str(), "cuda",
                         "built", cuda.built ? Py_True : Py_False, "runtime_version", cuda.runtime_version,
                         "driver_version", cuda.driver_version, "architectures", cuda.architectures.c_str(), "reason",
                         cuda.reason.c_str(), "devices", devices.get());
  });
}

/// _memory(x, writable, stream) -> (address, Layout, on a GPU, stream): where an array lies, for what is called with
/// plain pointers, and the stream that it is to be used on: the one asked for, or its framework's. The caller keeps x.
PyObject* memory(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 3) raise(PyExc_TypeError, "_memory takes an array, whether it is written to, and a stream");
    const bool writable = args[1] == Py_True;
    const Stream asked = stream_of(args[2]);
    const Array x(args[0], writable ? "dst" : "src", writable ? Array::Access::kWrite : Array::Access::kRead, asked);
    const Ref layout = own(new_layout(x.layout()));
    const Stream stream = asked.known || !x.on_cuda() ? asked : x.current_stream();
    const auto number = [](const void* pointer) {
      return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer));
    };
    return Py_BuildValue("(KOOK)", number(x.data()), layout.get(), x.on_cuda() ? Py_True : Py_False,
                         number(stream.handle));
  });
}

template <class Function>
PyCFunction as_c_function(Function f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef functions[] = {{"copy", as_c_function(copy), METH_FASTCALL | METH_KEYWORDS, kCopyDoc},
                           {"plan", as_c_function(plan), METH_FASTCALL | METH_KEYWORDS, kPlanDoc},
                           {"layout", layout, METH_O,
                            R"(layout(x, /)
--

The Layout of an array, or of text in restride's notation; copies nothing.

x: any array, 'f32 (8,64):(64,1)', or a Layout.
Errors: TypeError (no array), ValueError (no layout, with the column).

>>> restride.layout(np.zeros((4, 6), np.float32).T)
restride.Layout('f32 (6,4):(1,6)')
)"},
                           {"_move", as_c_function(move), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"_rearrange", as_c_function(rearrange), METH_FASTCALL, nullptr},
                           {"_memory", as_c_function(memory), METH_FASTCALL, nullptr},
                           {"_jax_targets", jax_targets, METH_NOARGS, nullptr},
                           {"_info", info, METH_NOARGS, nullptr},
                           {}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "restride._core", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace restride::python

PyMODINIT_FUNC PyInit__core() {
  using namespace restride::python;
  return guarded([&]() -> PyObject* {
    Ref module = own(PyModule_Create(&definition));
    add_layout_type(module.get());
    add_plan_type(module.get());
    return module.release();
  });
}
