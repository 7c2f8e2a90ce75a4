// restride.Plan: a decision made once, and restride.plan, which makes it.
#pragma once

#include "python/src/py.h"

namespace restride::python {

void add_plan_type(PyObject* module);

/// plan(dst, src, *, cast=False, device=None, threads=0, kernel=None, measure=False)
PyObject* plan(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
extern const char* const kPlanDoc;

}  // namespace restride::python
