// Python's C API as the module uses it: the limited API of CPython 3.11, references that release themselves, and
// exceptions that cross between C++ and Python at one place.
#pragma once

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <restride/error.hpp>
#include <string>
#include <utility>

namespace restride::python {

/// Thrown where a Python exception is set already.
struct Raised {};

/// Sets a Python exception and throws.
[[noreturn]] void raise(PyObject* type, const std::string& message);

/// Turns the C++ exception in flight into a Python one. Call it in a catch block.
void set_python_error() noexcept;

/// Runs `body`; what it throws becomes a Python exception and `failed`.
template <class Body, class Result>
Result guarded(Body body, Result failed) noexcept {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return failed;
  }
}
template <class Body>
PyObject* guarded(Body body) noexcept {
  return guarded(std::move(body), static_cast<PyObject*>(nullptr));
}

/// Owns a reference.
class Ref {
 public:
  Ref() noexcept = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  Ref(Ref&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Ref& operator=(Ref&& o) noexcept {
    Ref(std::move(o)).swap(*this);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  void swap(Ref& o) noexcept { std::swap(object_, o.object_); }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Takes over a new reference; throws Raised when Python gave none.
inline Ref own(PyObject* object) {
  if (object == nullptr) throw Raised{};
  return Ref(object);
}
inline Ref borrow(PyObject* object) {
  Py_INCREF(object);
  return Ref(object);
}

/// x.name, or nothing where there is no such attribute. Other errors throw.
Ref attribute_or_none(PyObject* x, const char* name);

/// Errors: TypeError where `what`, as messages name it, is no str.
std::string text_of(PyObject* unicode, const char* what);
/// str(x), for messages.
std::string str(PyObject* x);
/// "numpy.ndarray", for messages.
std::string type_name(PyObject* x);
long long integer_of(PyObject* x, const char* what);

inline bool is_true(const Ref& value) {
  const int truth = PyObject_IsTrue(value.get());
  if (truth < 0) throw Raised{};
  return truth != 0;
}

/// sys.modules[name], borrowed, or nullptr where the program has not imported it. Never imports.
PyObject* imported(const char* name);

/// Arguments of a METH_FASTCALL function by position and by name.
class Arguments {
 public:
  /// `names` ends with nullptr; the first `positional` may be given by position. Missing ones are nullptr.
  Arguments(const char* function, const char* const* names, int positional, PyObject* const* args, Py_ssize_t nargs,
            PyObject* kwnames);
  PyObject* operator[](int i) const noexcept { return values_[i]; }
  /// Errors: TypeError where it is missing or None.
  PyObject* required(int i) const;
  bool flag(int i, bool otherwise) const;

 private:
  static constexpr int kMost = 8;
  const char* function_;
  const char* const* names_;
  PyObject* values_[kMost] = {};
  unsigned none_ = 0;  ///< a bit an argument that was given as None, which is as if it were missing
};

}  // namespace restride::python
