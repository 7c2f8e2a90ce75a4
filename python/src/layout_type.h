// restride.Layout: a layout as Python sees it, with the library's views.
#pragma once

#include <restride/layout.hpp>

#include "python/src/py.h"

namespace restride::python {

/// Makes the type and puts it into the module.
void add_layout_type(PyObject* module);

PyObject* new_layout(const Layout& layout);
bool is_layout(PyObject* x);
const Layout& layout_of(PyObject* layout);

/// layout(x): of an array, of text in the notation, or of a Layout itself.
PyObject* layout(PyObject* module, PyObject* x);
/// _rearrange(layout, pattern, sizes) -> (Layout of the source, merged shape).
PyObject* rearrange(PyObject* module, PyObject* const* args, Py_ssize_t nargs);

/// "(3, 4)", "(3,)": as Python prints shapes.
std::string shape_text(const Layout& layout);
PyObject* shape_tuple(Extents extents);

}  // namespace restride::python
