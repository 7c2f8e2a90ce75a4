// The copy that XLA calls while a function compiled by jax.jit runs: restride.jax registers it.
#pragma once

#include "python/src/py.h"

namespace restride::python {

/// _jax_targets() -> {"cpu": capsule, "CUDA": capsule}: what jax.ffi.register_ffi_target takes.
PyObject* jax_targets(PyObject* module, PyObject*);

}  // namespace restride::python
