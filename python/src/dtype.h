// What the world's names for element types are to restride: DLPack's codes, NumPy's dtypes, buffer formats, typestrs.
#pragma once

#include <restride/dtype.hpp>

#include "python/src/dlpack.h"
#include "python/src/py.h"

namespace restride::python {

/// An element with what tells two opaque ones apart: bytes of one dtype must not land in an array of another.
struct Kind {
  Element element;
  std::int64_t code = -1;        ///< DLPack's code, bits and lanes, where the element is opaque and has one
  PyObject* descr = nullptr;     ///< NumPy's dtype or a typestr, borrowed; compared by ==
  const char* format = nullptr;  ///< a buffer's format
};

/// Whether elements of both are the same type.
bool same_kind(const Kind& a, const Kind& b);

/// Errors: TypeError, of packed types below one byte.
Kind kind_of(DLDataType type, const char* who);

/// A NumPy dtype. Errors: TypeError, of objects, of another byte order, of elements without bytes.
/// Cost: nanoseconds for a dtype that came before, by its address.
Kind kind_of_descr(PyObject* descr, const char* who);

/// A format of the buffer protocol (PEP 3118) and of __array_interface__. Errors: TypeError, as above.
Kind kind_of_format(const char* format, std::int64_t itemsize, const char* who);
Kind kind_of_typestr(PyObject* typestr, const char* who);

/// "float32", as NumPy and torch say it; for opaque ones what there is.
std::string name_of(const Kind& kind);

/// The dtype's name in NumPy's and torch's words: "float32"; "b12" of opaque ones.
std::string long_name(const Element& element);

}  // namespace restride::python
