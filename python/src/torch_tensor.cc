#include "python/src/torch_tensor.h"

namespace restride::python {
namespace {

/// A name of an attribute, made once.
PyObject* interned(PyObject** name, const char* text) {
  if (*name == nullptr) *name = own(PyUnicode_InternFromString(text)).release();
  return *name;
}

/// A method of torch.Tensor that takes nothing and says yes or no. Its C function is called directly: finding the
/// method by its name and Python's way of calling it take longer than the answer. A subclass's __torch_function__ is
/// still asked.
class TensorQuestion {
 public:
  explicit TensorQuestion(const char* name) : name_(name) {}
  bool operator()(PyObject* tensor) {
    if (!method_) find(tensor);
    return is_true(own(function_ != nullptr ? function_(tensor, nullptr)
                                            : PyObject_CallFunctionObjArgs(method_.get(), tensor, nullptr)));
  }

 private:
  void find(PyObject* tensor) {
    const Ref type = own(PyObject_GetAttrString(imported("torch"), "Tensor"));
    Ref method = own(PyObject_GetAttrString(type.get(), name_));
    const Ref bound = own(PyObject_CallMethod(method.get(), "__get__", "O", tensor));
    if (PyCFunction_CheckExact(bound.get()) && PyCFunction_GetFlags(bound.get()) == METH_NOARGS)
      function_ = PyCFunction_GetFunction(bound.get());
    method_ = std::move(method);
  }

  const char* name_;
  Ref method_;
  PyCFunction function_ = nullptr;
};

}  // namespace

void check_torch_tensor(PyObject* x, const char* who, bool written, const Kind& kind) {
  static PyObject* requires_grad = nullptr;
  static auto &is_conj = *new TensorQuestion("is_conj"), &is_neg = *new TensorQuestion("is_neg");  // outlive Python
  if (is_true(own(PyObject_GetAttr(x, interned(&requires_grad, "requires_grad"))))) {
    PyObject* torch = imported("torch");
    const bool recording = is_true(own(PyObject_CallMethod(torch, "is_grad_enabled", nullptr)));
    if (recording)
      raise(PyExc_TypeError,
            std::string(who) + (written
                                    ? " requires grad, and autograd would not see that it is written; write inside "
                                      "torch.no_grad(), or to dst.detach()"
                                    : " requires grad, and the copy would be cut off from it; give x.detach(), or use "
                                      "restride.torch's operators, which have gradients"));
  }
  const DTypeKind k = restride::kind(kind.element.dtype);
  if (kind.element.dtype != DType::kBytes && k == DTypeKind::kComplex && is_conj(x))
    raise(PyExc_TypeError, std::string(who) +
                               " has the conjugate bit set, and its memory holds other values; give "
                               "x.resolve_conj()");
  if ((k == DTypeKind::kComplex || k == DTypeKind::kFloat) && is_neg(x))
    raise(PyExc_TypeError,
          std::string(who) + " has the negative bit set, and its memory holds other values; give x.resolve_neg()");
}

}  // namespace restride::python
