#include "python/src/py.h"

#include <cstring>
#include <new>

namespace restride::python {
namespace {

PyObject* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCast: return PyExc_TypeError;
    case ErrorCode::kOutOfMemory: return PyExc_MemoryError;
    case ErrorCode::kIo: return PyExc_OSError;
    case ErrorCode::kDevice:
    case ErrorCode::kUnsupported:
    case ErrorCode::kInternal: return PyExc_RuntimeError;
    default: return PyExc_ValueError;
  }
}

}  // namespace

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw Raised{};
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const Raised&) {
    // Python knows.
  } catch (const Error& e) {
    PyErr_SetString(class_of(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of unknown type; please report it");
  }
}

Ref attribute_or_none(PyObject* x, const char* name) {
  PyObject* found = PyObject_GetAttrString(x, name);
  if (found == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw Raised{};
    PyErr_Clear();
  }
  return Ref(found);
}

std::string text_of(PyObject* unicode, const char* what) {
  if (PyUnicode_Check(unicode) == 0)
    raise(PyExc_TypeError, std::string(what) + " is a " + type_name(unicode) + "; give a str");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(unicode, &size);
  if (text == nullptr) throw Raised{};
  return {text, static_cast<std::size_t>(size)};
}

std::string str(PyObject* x) { return text_of(own(PyObject_Str(x)).get(), "str(x)"); }

std::string type_name(PyObject* x) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(x));
  const std::string module = str(own(PyObject_GetAttrString(type, "__module__")).get());
  const std::string name = str(own(PyObject_GetAttrString(type, "__qualname__")).get());
  return module == "builtins" ? name : module + "." + name;
}

long long integer_of(PyObject* x, const char* what) {
  const Ref index(PyNumber_Index(x));
  if (!index) {
    PyErr_Clear();
    raise(PyExc_TypeError, std::string(what) + " is a " + type_name(x) + "; give an int");
  }
  const long long value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise(PyExc_ValueError, std::string(what) + " does not fit 64 bits");
  }
  return value;
}

PyObject* imported(const char* name) { return PyDict_GetItemString(PyImport_GetModuleDict(), name); }

Arguments::Arguments(const char* function, const char* const* names, int positional, PyObject* const* args,
                     Py_ssize_t nargs, PyObject* kwnames)
    : function_(function), names_(names) {
  if (nargs > positional)
    raise(PyExc_TypeError, std::string(function) + "() takes " + std::to_string(positional) +
                               " positional arguments, not " + std::to_string(nargs) + "; the others have names");
  for (Py_ssize_t i = 0; i < nargs; ++i) values_[i] = args[i];
  const Py_ssize_t named = kwnames == nullptr ? 0 : PyTuple_Size(kwnames);
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* name = PyTuple_GetItem(kwnames, k);
    int i = 0;
    while (names[i] != nullptr && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) ++i;
    if (names[i] == nullptr) raise(PyExc_TypeError, std::string(function) + "() has no argument '" + str(name) + "'");
    if (values_[i] != nullptr)
      raise(PyExc_TypeError, std::string(function) + "() got '" + names[i] + "' by position and by name");
    values_[i] = args[nargs + k];
  }
  for (int i = 0; names[i] != nullptr; ++i)
    if (values_[i] == Py_None) {
      values_[i] = nullptr;
      none_ |= 1U << i;
    }
}

PyObject* Arguments::required(int i) const {
  if (values_[i] == nullptr)
    raise(PyExc_TypeError, (none_ >> i & 1U) != 0 ? std::string(names_[i]) + " is None; give an array"
                                                  : std::string(function_) + "() needs '" + names_[i] + "'");
  return values_[i];
}

bool Arguments::flag(int i, bool otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  const int truth = PyObject_IsTrue(values_[i]);
  if (truth < 0) throw Raised{};
  return truth != 0;
}

}  // namespace restride::python
