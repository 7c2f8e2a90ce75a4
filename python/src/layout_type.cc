#include "python/src/layout_type.h"

#include <vector>

#include "python/src/array.h"

namespace restride::python {
namespace {

struct LayoutObject {
  PyObject head;
  Layout* value;
};

PyTypeObject* layout_type = nullptr;

std::vector<std::int64_t> integers_of(PyObject* sequence, const char* what) {
  if (PyIndex_Check(sequence) != 0) {
    // An array has __index__, too, which serves those without axes only.
    if (PySequence_Check(sequence) == 0 || Ref(PyNumber_Index(sequence))) return {integer_of(sequence, what)};
    PyErr_Clear();
  }
  const Ref tuple(PyUnicode_Check(sequence) != 0 ? nullptr : PySequence_Tuple(sequence));
  if (!tuple) {
    PyErr_Clear();
    raise(PyExc_TypeError, std::string(what) + " is a " + type_name(sequence) + "; give a tuple of ints");
  }
  std::vector<std::int64_t> out;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple.get()); ++i) {
    const std::string element = std::string(what) + "[" + std::to_string(i) + "]";
    out.push_back(integer_of(PyTuple_GetItem(tuple.get(), i), element.c_str()));
  }
  return out;
}

PyObject* tuple_of(const Modes& modes, std::int64_t Mode::*member) {
  Shape values;
  for (const Mode& mode : modes) values.push_back(mode.*member);
  return shape_tuple(Extents(values.data(), values.size()));
}

PyObject* text(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<LayoutObject*>(self)->value;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* repr(PyObject* self) {
  return guarded([&] { return text("restride.Layout('" + to_string(layout_of(self)) + "')"); });
}
PyObject* print(PyObject* self) {
  return guarded([&] { return text(to_string(layout_of(self))); });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  return guarded([&]() -> PyObject* {
    if (!is_layout(b) || (op != Py_EQ && op != Py_NE)) return Py_NewRef(Py_NotImplemented);
    return PyBool_FromLong((layout_of(a) == layout_of(b)) == (op == Py_EQ) ? 1 : 0);
  });
}

Py_hash_t hash(PyObject* self) {
  return guarded([&] { return PyObject_Hash(own(print(self)).get()); }, Py_hash_t{-1});
}

PyObject* shape(PyObject* self, void*) {
  return guarded([&] { return tuple_of(layout_of(self).modes, &Mode::extent); });
}
PyObject* strides_bytes(PyObject* self, void*) {
  return guarded([&] { return tuple_of(layout_of(self).modes, &Mode::stride_bytes); });
}
PyObject* dtype(PyObject* self, void*) {
  return guarded([&] { return text(long_name(layout_of(self).element)); });
}
PyObject* itemsize(PyObject* self, void*) { return PyLong_FromLongLong(layout_of(self).element.size_bytes); }
PyObject* nbytes(PyObject* self, void*) { return PyLong_FromLongLong(layout_of(self).bytes()); }
PyObject* size(PyObject* self, void*) { return PyLong_FromLongLong(layout_of(self).elements()); }
PyObject* ndim(PyObject* self, void*) { return PyLong_FromLong(layout_of(self).rank()); }
PyObject* offset_bytes(PyObject* self, void*) { return PyLong_FromLongLong(layout_of(self).offset_bytes); }

PyObject* permute_view(PyObject* self, PyObject* axes) {
  return guarded([&] { return new_layout(permute(layout_of(self), integers_of(axes, "axes"))); });
}
PyObject* flip_view(PyObject* self, PyObject* axes) {
  return guarded([&] {
    Layout out = layout_of(self);
    std::uint64_t seen = 0;
    for (const std::int64_t axis : integers_of(axes, "axes")) {
      out = flip(out, static_cast<int>(axis < -kMaxRank || axis > kMaxRank ? kMaxRank : axis));
      const std::uint64_t bit = std::uint64_t{1} << (axis < 0 ? axis + out.rank() : axis);
      if ((seen & bit) != 0)
        throw ShapeError("flip: axis " + std::to_string(axis) + " is named twice; give each axis once");
      seen |= bit;
    }
    return new_layout(out);
  });
}
PyObject* reshape_view(PyObject* self, PyObject* extents) {
  return guarded([&] { return new_layout(restride::reshape(layout_of(self), integers_of(extents, "shape"))); });
}
PyObject* broadcast_view(PyObject* self, PyObject* extents) {
  return guarded([&] { return new_layout(broadcast_to(layout_of(self), integers_of(extents, "shape"))); });
}

PyMethodDef methods[] = {
    {"permute", permute_view, METH_O,
     "permute($self, axes, /)\n--\n\nThe view whose axis j is this one's axes[j], as numpy.transpose; copies "
     "nothing.\n\n"
     ">>> restride.layout('u8 (480,640,3)').permute((2, 0, 1))\nrestride.Layout('u8 (3,480,640):(1,1920,3)')"},
    {"flip", flip_view, METH_O,
     "flip($self, axes, /)\n--\n\nThe view with these axes reversed (an int or a tuple); copies nothing.\n\n"
     ">>> restride.layout('f32 (4,2)').flip(0)\nrestride.Layout('f32 (4,2):(-2,1)@6')"},
    {"reshape", reshape_view, METH_O,
     "reshape($self, shape, /)\n--\n\nThe same elements in C order under another shape, one extent may be -1; copies "
     "nothing.\nRaises ValueError where no strides describe it.\n\n"
     ">>> restride.layout('f32 (4,6)').reshape((4, 3, -1))\nrestride.Layout('f32 (4,3,2):(6,2,1)')"},
    {"broadcast_to", broadcast_view, METH_O,
     "broadcast_to($self, shape, /)\n--\n\nThe view of this shape whose stretched axes have stride 0; copies "
     "nothing.\n\n"
     ">>> restride.layout('f32 (3)').broadcast_to((2, 3))\nrestride.Layout('f32 (2,3):(0,1)')"},
    {}};

PyGetSetDef properties[] = {
    {"shape", shape, nullptr, "Extents, outermost first.", nullptr},
    {"strides_bytes", strides_bytes, nullptr, "Strides in bytes, outermost first, of any sign.", nullptr},
    {"dtype", dtype, nullptr, "The element's name, 'float32'; 'b12' of twelve opaque bytes.", nullptr},
    {"itemsize", itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", nbytes, nullptr, "Bytes of all elements, each counted once.", nullptr},
    {"size", size, nullptr, "Number of elements.", nullptr},
    {"ndim", ndim, nullptr, "Number of axes.", nullptr},
    {"offset_bytes", offset_bytes, nullptr, "Bytes from the data pointer to element (0, ..., 0).", nullptr},
    {}};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_str, reinterpret_cast<void*>(print)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("Which bytes a strided tensor's elements occupy: element, extents, strides in bytes. "
                                  "Made by restride.layout(); immutable.")},
    {0, nullptr}};
PyType_Spec spec = {"restride.Layout", sizeof(LayoutObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void add_layout_type(PyObject* module) {
  layout_type = reinterpret_cast<PyTypeObject*>(own(PyType_FromModuleAndSpec(module, &spec, nullptr)).release());
  if (PyModule_AddObjectRef(module, "Layout", reinterpret_cast<PyObject*>(layout_type)) != 0) throw Raised{};
}

PyObject* new_layout(const Layout& layout) {
  auto alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(layout_type, Py_tp_alloc));
  Ref self = own(alloc(layout_type, 0));
  reinterpret_cast<LayoutObject*>(self.get())->value = new Layout(layout);
  return self.release();
}

bool is_layout(PyObject* x) { return Py_TYPE(x) == layout_type; }
const Layout& layout_of(PyObject* layout) { return *reinterpret_cast<LayoutObject*>(layout)->value; }

std::string shape_text(const Layout& layout) {
  std::string out = "(";
  for (std::size_t i = 0; i < layout.modes.size(); ++i) {
    if (i != 0) out += ", ";
    out += std::to_string(layout.modes[i].extent);
  }
  return out + (layout.modes.size() == 1 ? ",)" : ")");
}

PyObject* shape_tuple(Extents extents) {
  Ref tuple = own(PyTuple_New(static_cast<Py_ssize_t>(extents.size())));
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(extents[i])) != 0) throw Raised{};
  return tuple.release();
}

PyObject* layout(PyObject*, PyObject* x) {
  return guarded([&]() -> PyObject* {
    if (is_layout(x)) return Py_NewRef(x);
    if (PyUnicode_Check(x) != 0) return new_layout(parse_layout(text_of(x, "x")));
    const Array array(x, "x", Array::Access::kRead, {});
    validate(array.layout());
    return new_layout(array.layout());
  });
}

PyObject* rearrange(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 3 || !is_layout(args[0]) || PyDict_Check(args[2]) == 0)
      raise(PyExc_TypeError, "_rearrange(layout, pattern, sizes)");
    std::vector<std::pair<std::string, std::int64_t>> sizes;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(args[2], &at, &name, &value) != 0;)
      sizes.emplace_back(text_of(name, "a size's name"), integer_of(value, str(name).c_str()));
    const Rearrangement r = restride::rearrange(layout_of(args[0]), text_of(args[1], "pattern"), sizes);
    Ref pair = own(PyTuple_New(2));
    if (PyTuple_SetItem(pair.get(), 0, own(new_layout(r.source)).release()) != 0 ||
        PyTuple_SetItem(pair.get(), 1, own(shape_tuple(Extents(r.shape.data(), r.shape.size()))).release()) != 0)
      throw Raised{};
    return pair.release();
  });
}

}  // namespace restride::python
