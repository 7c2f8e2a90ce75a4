// What a DLTensor cannot say of a torch.Tensor.
#pragma once

#include "python/src/dtype.h"
#include "python/src/py.h"

namespace restride::python {

/// Errors: TypeError where a copy of its memory would not be a copy of it: it requires grad, or is conjugated or
/// negated.
void check_torch_tensor(PyObject* x, const char* who, bool written, const Kind& kind);

}  // namespace restride::python
