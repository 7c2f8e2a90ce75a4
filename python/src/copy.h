// restride.copy and what Plan.run shares with it: the checks of a pair of arrays.
#pragma once

#include "python/src/array.h"

namespace restride::python {

/// A pair of arrays, opened; the stream that the copy runs on. Order matters: dst's framework names the stream.
class Pair {
 public:
  Pair(PyObject* dst, PyObject* src, const Stream& asked);

  const Array& dst() const { return dst_; }
  const Array& src() const { return src_; }
  const Stream& stream() const { return stream_; }

  /// Errors: TypeError where the dtypes differ and `cast` was not said.
  void check_kinds(bool cast) const;
  /// Errors: RuntimeError where they are not on one device.
  void check_devices() const;
  Options options(int threads) const;

 private:
  Array dst_;
  Stream stream_;
  Array src_;
};

/// Errors: ValueError that says how the shapes can be brought together.
void check_shapes(const Layout& dst, const Layout& src);

/// Number of threads of a call's `threads=`. Errors: TypeError, ValueError.
int threads_of(PyObject* threads);

/// Releases the GIL while it lives, where what is done outlasts taking it again.
class WithoutGil {
 public:
  explicit WithoutGil(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  WithoutGil(const WithoutGil&) = delete;
  ~WithoutGil() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};
/// A copy of this many bytes takes a microsecond or so; below, a thread that has to wait for the GIL again loses more.
inline constexpr std::int64_t kBytesWithGil = 16 << 10;

/// copy(dst, src, *, cast=False, stream=None, threads=0)
PyObject* copy(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
extern const char* const kCopyDoc;
/// _move(dst, src, dst_view, src_view, *, cast, stream, threads): the same memory under other layouts, None for its
/// own; elements pair in C order.
PyObject* move(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

}  // namespace restride::python
