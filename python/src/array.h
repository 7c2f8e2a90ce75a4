// An argument as restride sees it: memory, layout, device. Nothing is copied and nothing is converted on the way in.
//
// In this order, by type: NumPy arrays as they are; DLPack's C exchange API where the type has it (torch, CuPy);
// __dlpack__; the buffer protocol; __cuda_array_interface__; __array_interface__.
#pragma once

#include <restride/copy.hpp>

#include "python/src/dlpack.h"
#include "python/src/dtype.h"
#include "python/src/py.h"
#include "python/src/stream.h"

namespace restride::python {

class Array {
 public:
  enum class Access { kRead, kWrite };

  /// `who` names it in messages: "dst". `stream` is where the copy will run, where that is known already.
  /// Errors: TypeError (no array, no dtype for it), ValueError (read-only), BufferError (memory that cannot be
  /// reached), and what the framework raises.
  Array(PyObject* x, const char* who, Access access, const Stream& stream);
  Array(const Array&) = delete;
  ~Array();

  /// The stream that its framework works on now, for memory of a GPU.
  Stream current_stream() const;
  bool on_cuda() const { return device_.device_type == kDLCUDA || device_.device_type == kDLCUDAManaged; }

  void* data() const { return data_; }
  const Layout& layout() const { return layout_; }
  const Kind& kind() const { return kind_; }
  DLDevice device() const { return device_; }
  const char* who() const { return who_; }

 private:
  void open_numpy(PyObject* x, Access access);
  void open_exchange(PyObject* x, Access access, const Stream& stream);
  void open_dlpack(PyObject* x, Access access, const Stream& stream);
  void open_buffer(PyObject* x, Access access);
  void open_interface(PyObject* x, PyObject* interface, Access access);
  void take(const DLTensor& tensor, PyObject* x, Access access);
  [[noreturn]] void refuse_export(PyObject* x) const;
  void release() noexcept;
  void require_writable(bool read_only, PyObject* x) const;

  const char* who_;
  PyObject* object_;
  void* data_ = nullptr;
  Layout layout_;
  Kind kind_;
  DLDevice device_ = {kDLCPU, 0};
  const DLPackExchangeAPI* api_ = nullptr;
  Stream of_interface_;  ///< the stream that __cuda_array_interface__ names
  // What is released in the end.
  DLManagedTensorVersioned* managed_ = nullptr;
  DLManagedTensor* managed_old_ = nullptr;
  bool has_buffer_ = false;
  Py_buffer buffer_;
  Ref keep_;
};

/// "the CPU", "cuda:1".
std::string name_of(DLDevice device);

}  // namespace restride::python
