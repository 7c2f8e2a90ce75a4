#include "python/src/plan_type.h"

#include <new>
#include <optional>

#include "python/src/copy.h"
#include "python/src/layout_type.h"

namespace restride::python {
namespace {

struct PlanState {
  Plan plan;
  Layout dst, src;
  std::int64_t dst_first, dst_last, src_first, src_last;  ///< bytes that are touched
  std::int64_t bytes;
  bool cast;
  int threads;  ///< as asked for
};

struct PlanObject {
  PyObject head;
  PlanState* state;
};

PyTypeObject* plan_type = nullptr;

const PlanState& state_of(PyObject* self) { return *reinterpret_cast<PlanObject*>(self)->state; }

PyObject* text(std::string_view s) { return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())); }

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<PlanObject*>(self)->state;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

std::string device_text(const Plan& plan) {
  if (plan.device() == DeviceKind::kCpu)
    return plan.threads() == 1 ? "cpu" : "cpu, " + std::to_string(plan.threads()) + " threads";
  return plan.cuda_device() == kModelDevice ? "cuda:model" : "cuda:" + std::to_string(plan.cuda_device());
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    const PlanState& p = state_of(self);
    return text("<restride.Plan " + to_string(p.src) + " -> " + to_string(p.dst) + " by " +
                std::string(p.plan.kernel()) + " on " + device_text(p.plan) + ">");
  });
}

/// Whether both say the same of every element; the strides of axes without a second element say nothing.
bool same_places(const Layout& a, const Layout& b) {
  if (a.modes.size() != b.modes.size()) return false;
  bool same = true, empty = false;
  for (std::size_t i = 0; i < a.modes.size(); ++i) {
    if (a.modes[i].extent != b.modes[i].extent) return false;
    empty |= a.modes[i].extent == 0;
    same &= a.modes[i].extent == 1 || a.modes[i].stride_bytes == b.modes[i].stride_bytes;
  }
  return same || empty;
}

/// Errors: ValueError or TypeError that names what differs from the plan.
void check_side(const Array& array, const Layout& planned) {
  if (array.layout().element == planned.element && same_places(array.layout(), planned)) return;
  if (array.layout().element != planned.element)
    raise(PyExc_TypeError, std::string(array.who()) + " is " + name_of(array.kind()) + ", the plan is for " +
                               long_name(planned.element) + "; make a plan for it");
  raise(PyExc_ValueError, std::string(array.who()) + " is " + to_string(array.layout()) + ", the plan is for " +
                              to_string(planned) + "; make a plan for it, or call restride.copy, which keeps plans");
}

bool aligned(const void* p, std::int64_t size) {
  const auto natural = static_cast<std::uintptr_t>(size & -size);
  return reinterpret_cast<std::uintptr_t>(p) % (natural > 16 ? 16 : natural) == 0;
}

PyObject* run(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    static const char* const kNames[] = {"dst", "src", "stream", nullptr};
    const Arguments given("run", kNames, 2, args, nargs, kwnames);
    const PlanState& p = state_of(self);
    const Pair pair(given.required(0), given.required(1), stream_of(given[2]));
    check_side(pair.dst(), p.dst);
    check_side(pair.src(), p.src);
    if (p.dst.element.dtype == DType::kBytes) pair.check_kinds(false);
    const bool cuda = p.plan.device() == DeviceKind::kCuda;
    if (pair.dst().on_cuda() != cuda || pair.src().on_cuda() != cuda ||
        (cuda && pair.dst().device().device_id >= 0 && pair.dst().device().device_id != p.plan.cuda_device()))
      raise(PyExc_RuntimeError, "the plan is for " + device_text(p.plan) + ", dst is on " +
                                    name_of(pair.dst().device()) + " and src on " + name_of(pair.src().device()) +
                                    "; make a plan for that device");
    if (p.bytes == 0) return Py_NewRef(Py_None);
    const auto d = reinterpret_cast<std::intptr_t>(pair.dst().data());
    const auto s = reinterpret_cast<std::intptr_t>(pair.src().data());
    const bool apart = d + p.dst_last <= s + p.src_first || s + p.src_last <= d + p.dst_first;
    const bool known =
        !cuda || (pair.dst().device().device_id == pair.src().device().device_id && pair.dst().device().device_id >= 0);
    const bool as_planned = !cuda || (aligned(pair.dst().data(), p.dst.element.size_bytes) &&
                                      aligned(pair.src().data(), p.src.element.size_bytes));
    int status = 0;
    {
      const WithoutGil without(cuda || p.bytes > kBytesWithGil);
      if (d == 0 || s == 0 || !apart || !known || !as_planned) {
        // What the plan takes for granted does not hold: the library looks for itself, and says what is wrong.
        restride::copy({pair.dst().data(), p.dst}, {pair.src().data(), p.src}, pair.options(p.threads));
      } else if (cuda) {
        Options options;
        options.stream = pair.stream().handle;
        status = p.plan.run(pair.dst().data(), pair.src().data(), options);
      } else {
        status = p.plan.run(pair.dst().data(), pair.src().data());
      }
    }
    if (status != 0)
      raise(PyExc_RuntimeError, device_text(p.plan) + " refused the copy: CUDA error " + std::to_string(status) +
                                    (p.plan.cuda_device() == kModelDevice ? " (a model runs nothing)" : ""));
    return Py_NewRef(Py_None);
  });
}

PyObject* explain(PyObject* self, PyObject*) {
  return guarded([&] { return text(state_of(self).plan.explain()); });
}
PyObject* to_json(PyObject* self, PyObject*) {
  return guarded([&] { return text(state_of(self).plan.serialize()); });
}
PyObject* get_kernel(PyObject* self, void*) { return text(state_of(self).plan.kernel()); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] {
    const Plan& plan = state_of(self).plan;
    return text(plan.device() == DeviceKind::kCpu ? "cpu" : device_text(plan));
  });
}
PyObject* get_threads(PyObject* self, void*) { return PyLong_FromLong(state_of(self).plan.threads()); }
PyObject* get_dst(PyObject* self, void*) {
  return guarded([&] { return new_layout(state_of(self).dst); });
}
PyObject* get_src(PyObject* self, void*) {
  return guarded([&] { return new_layout(state_of(self).src); });
}

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run)), METH_FASTCALL | METH_KEYWORDS,
     R"(run($self, dst, src, *, stream=None)
--

Copies src to dst as planned. Both have the plan's shapes, strides, dtypes and device.

Alias, stream, errors: as restride.copy. Run it from any thread.
Cost: half of what restride.copy adds; nothing is looked up.

>>> x, y = np.ones((4, 6), np.float32), np.zeros((6, 4), np.float32)
>>> plan = restride.plan(y, x.T)
>>> plan.run(y, x.T)
>>> y.sum()
np.float32(24.0)
)"},
    {"explain", explain, METH_NOARGS,
     R"(explain($self, /)
--

What the copy does and why: canonical form, chosen kernel, traffic, predicted time, what lost and why.

>>> print(restride.plan('u8 (4)', 'u8 (4):(2)').explain())  # doctest: +ELLIPSIS
src        u8 (4):(2)
dst        u8 (4):(1)
...
)"},
    {"to_json", to_json, METH_NOARGS, "to_json($self, /)\n--\n\nThe plan as one JSON object."},
    {}};
PyGetSetDef properties[] = {{"dst", get_dst, nullptr, "The layout of dst.", nullptr},
                            {"src", get_src, nullptr, "The layout of src.", nullptr},
                            {"kernel", get_kernel, nullptr, "The kernel that runs, 'tile/aligned'.", nullptr},
                            {"device", get_device, nullptr, "'cpu', 'cuda:0', or 'cuda:model'.", nullptr},
                            {"threads", get_threads, nullptr, "Threads that share the copy on the CPU.", nullptr},
                            {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("A copy planned once: how one layout gets into another. Made by restride.plan(); "
                                  "immutable.")},
    {0, nullptr}};
PyType_Spec spec = {"restride.Plan", sizeof(PlanObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

/// A side of a plan: text, a Layout or an array, whose device it then has.
Layout side_of(PyObject* x, const char* who, std::optional<Array>* array) {
  if (is_layout(x)) return layout_of(x);
  if (PyUnicode_Check(x) != 0) return parse_layout(text_of(x, who));
  array->emplace(x, who, Array::Access::kRead, Stream{});
  return (*array)->layout();
}

/// 'cpu', 'cuda', 'cuda:1', 'cuda:model'. Errors: ValueError.
void set_device(PyObject* device, Options* options) {
  const std::string name = str(device);
  if (name == "cpu") {
    options->device = DeviceKind::kCpu;
    return;
  }
  options->device = DeviceKind::kCuda;
  if (name == "cuda") return;
  if (name == "cuda:model") {
    options->cuda_device = kModelDevice;
    return;
  }
  if (name.rfind("cuda:", 0) != 0 || name.size() > 9 || name.find_first_not_of("0123456789", 5) != std::string::npos ||
      name.size() == 5)
    raise(PyExc_ValueError, "device '" + name + "': write 'cpu', 'cuda', 'cuda:0' or 'cuda:model'");
  options->cuda_device = std::stoi(name.substr(5));
}

}  // namespace

void add_plan_type(PyObject* module) {
  plan_type = reinterpret_cast<PyTypeObject*>(own(PyType_FromModuleAndSpec(module, &spec, nullptr)).release());
  if (PyModule_AddObjectRef(module, "Plan", reinterpret_cast<PyObject*>(plan_type)) != 0) throw Raised{};
}

const char* const kPlanDoc = R"(plan(dst, src, *, cast=False, device=None, threads=0, kernel=None, measure=False)
--

Plans a copy from src to dst and copies nothing: decide once, then plan.run(dst, src) many times.

dst, src: arrays, whose memory is only described; or layouts: restride.layout(x), 'f32 (8,64):(64,1)'.
Shape, strides, dtype: as restride.copy; cast=True lets the dtypes differ.
device: 'cpu', 'cuda', 'cuda:1', where layouts do not say it; 'cuda:model' is an H200 that is not there, to explain.
threads: as restride.copy. kernel: forces a family ('tile') or a kernel of it ('tile/aligned').
measure: times the candidates once and keeps the best (allocates scratch memory, and waits on a GPU).
Errors: TypeError, ValueError, RuntimeError, as restride.copy.
Cost: microseconds.

>>> restride.plan('f32 (3,480,640)', 'u8 (3,480,640):(1,1920,3)', cast=True, threads=1).src
restride.Layout('u8 (3,480,640):(1,1920,3)')
)";

PyObject* plan(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    static const char* const kNames[] = {"dst", "src", "cast", "device", "threads", "kernel", "measure", nullptr};
    const Arguments given("plan", kNames, 2, args, nargs, kwnames);
    std::optional<Array> dst_array, src_array;
    Layout dst = side_of(given.required(0), "dst", &dst_array);
    Layout src = side_of(given.required(1), "src", &src_array);
    dst.offset_bytes = src.offset_bytes = 0;  // an array's data is its first element
    check_shapes(dst, src);
    const bool cast = given.flag(2, false);
    if (!cast && dst.element != src.element)
      raise(PyExc_TypeError, "dst is " + long_name(dst.element) + " and src " + long_name(src.element) +
                                 ": say cast=True to convert in the same pass");
    Options options;
    options.device = DeviceKind::kCpu;
    const Array* any = dst_array ? &*dst_array : src_array ? &*src_array : nullptr;
    if (dst_array && src_array && dst_array->on_cuda() != src_array->on_cuda())
      raise(PyExc_RuntimeError, "dst is on " + name_of(dst_array->device()) + " and src on " +
                                    name_of(src_array->device()) + ": restride copies within a device");
    if (any != nullptr && any->on_cuda()) {
      options.device = DeviceKind::kCuda;
      options.cuda_device = any->device().device_id >= 0 ? any->device().device_id : kCurrentDevice;
    }
    if (given[3] != nullptr) {
      if (any != nullptr) raise(PyExc_ValueError, "device is what the arrays say; give it with layouts only");
      set_device(given[3], &options);
    }
    options.threads = threads_of(given[4]);
    const std::string kernel = given[5] == nullptr ? "" : text_of(given[5], "kernel");
    options.family = kernel;
    options.measure = given.flag(6, false);
    const std::int64_t bytes = dst.bytes();
    const auto [dst_first, dst_last] = byte_range(dst);
    const auto [src_first, src_last] = byte_range(src);
    std::optional<Plan> made;
    {
      const WithoutGil without(true);
      made.emplace(dst, src, options);
    }
    auto alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(plan_type, Py_tp_alloc));
    Ref self = own(alloc(plan_type, 0));
    reinterpret_cast<PlanObject*>(self.get())->state =
        new PlanState{*made, dst, src, dst_first, dst_last, src_first, src_last, bytes, cast, options.threads};
    return self.release();
  });
}

}  // namespace restride::python
