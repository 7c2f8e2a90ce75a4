#include "python/src/copy.h"

#include <limits>

#include "python/src/layout_type.h"

namespace restride::python {
namespace {

/// The permutation that makes `src` have dst's shape, "(1, 0)"; empty where there is none.
std::string permutation(const Layout& dst, const Layout& src) {
  std::string out;
  std::uint64_t used = 0;
  for (const Mode& wanted : dst.modes) {
    int found = -1;
    for (int j = 0; j < src.rank() && found < 0; ++j)
      if (((used >> j) & 1) == 0 && src.modes[static_cast<std::size_t>(j)].extent == wanted.extent) found = j;
    if (found < 0) return {};
    used |= std::uint64_t{1} << found;
    out += out.empty() ? "(" : ", ";
    out += std::to_string(found);
  }
  return out + ")";
}

bool stretches(const Layout& dst, const Layout& src) {
  const std::size_t added = dst.modes.size() - src.modes.size();
  if (dst.modes.size() < src.modes.size()) return false;
  for (std::size_t i = 0; i < src.modes.size(); ++i)
    if (src.modes[i].extent != 1 && src.modes[i].extent != dst.modes[i + added].extent) return false;
  return true;
}

/// As the library has it: leading axes of extent 1 make no difference. The words of the refusal are Python's.
bool equal_shapes(const Layout& dst, const Layout& src) {
  std::size_t i = 0, j = 0;
  while (dst.modes.size() - i > src.modes.size() && dst.modes[i].extent == 1) ++i;
  while (src.modes.size() - j > dst.modes.size() && src.modes[j].extent == 1) ++j;
  if (dst.modes.size() - i != src.modes.size() - j) return false;
  for (; i < dst.modes.size(); ++i, ++j)
    if (dst.modes[i].extent != src.modes[j].extent) return false;
  return true;
}

bool on_host(DLDevice d) { return d.device_type == kDLCPU || d.device_type == kDLCUDAHost; }

void run(const Pair& pair, const Layout& dst_layout, const Layout& src_layout, const Options& options) {
  const Tensor dst{pair.dst().data(), dst_layout};
  const ConstTensor src(pair.src().data(), src_layout);
  const WithoutGil without(pair.dst().on_cuda() || dst_layout.bytes() > kBytesWithGil);
  restride::copy(dst, src, options);
}

/// The layout that `view` gives to the array's memory. Errors: ValueError and TypeError where it is none of it.
const Layout& viewed(const Array& array, PyObject* view) {
  if (view == nullptr) return array.layout();
  if (!is_layout(view)) raise(PyExc_TypeError, "a view is no Layout");
  const Layout& layout = layout_of(view);
  const auto [first, last] = byte_range(layout);
  const auto [from, to] = byte_range(array.layout());
  if (first < last && (first < from || last > to))
    raise(PyExc_ValueError, std::string("the view leaves the memory of ") + array.who());
  if (layout.element != array.layout().element)
    raise(PyExc_TypeError, std::string("the view has another element than ") + array.who());
  return layout;
}

}  // namespace

Pair::Pair(PyObject* dst, PyObject* src, const Stream& asked)
    : dst_(dst, "dst", Array::Access::kWrite, asked),
      stream_(asked.known ? asked : dst_.current_stream()),
      src_(src, "src", Array::Access::kRead, stream_) {
  if (!stream_.known) stream_ = src_.current_stream();
}

void Pair::check_kinds(bool cast) const {
  const Kind &to = dst_.kind(), &from = src_.kind();
  if (same_kind(to, from)) return;
  const std::string both = "dst is " + name_of(to) + " and src " + name_of(from);
  if (to.element.dtype == DType::kBytes || from.element.dtype == DType::kBytes)
    raise(PyExc_TypeError, both +
                               ": such elements move between equal dtypes only; view both as bytes of one size "
                               "(x.view('V" +
                               std::to_string(from.element.size_bytes) + "')) if that is meant");
  if (!cast) raise(PyExc_TypeError, both + ": say cast=True to convert in the same pass, or make dst " + name_of(from));
}

void Pair::check_devices() const {
  const DLDevice d = dst_.device(), s = src_.device();
  const bool mixed = (on_host(d) && s.device_type == kDLCUDA) || (on_host(s) && d.device_type == kDLCUDA);
  if (mixed)
    raise(PyExc_RuntimeError,
          "dst is on " + name_of(d) + " and src on " + name_of(s) +
              ": restride copies within a device; bring one side over first (torch: src.to(dst.device); "
              "CuPy: cupy.asarray(src), cupy.asnumpy(src))");
  if (d.device_type == kDLCUDA && s.device_type == kDLCUDA && d.device_id >= 0 && s.device_id >= 0 &&
      d.device_id != s.device_id)
    raise(PyExc_RuntimeError, "dst is on " + name_of(d) + " and src on " + name_of(s) +
                                  ": bring both to one device first (torch: src.to(dst.device))");
}

Options Pair::options(int threads) const {
  Options o;
  o.threads = threads;
  o.stream = stream_.handle;
  if (on_host(dst_.device()) && on_host(src_.device())) o.device = DeviceKind::kCpu;
  return o;
}

void check_shapes(const Layout& dst, const Layout& src) {
  if (equal_shapes(dst, src)) return;
  std::string remedy = "give arrays of one shape";
  const std::string order = dst.rank() == src.rank() && dst.rank() > 1 ? permutation(dst, src) : "";
  if (!order.empty())
    remedy = "the axes are in another order; src.transpose" + order + " (torch: permute) has dst's shape";
  else if (stretches(dst, src))
    remedy = "broadcasting is to be said; give numpy.broadcast_to(src, dst.shape), torch: src.expand(dst.shape)";
  else if (dst.elements() == src.elements())
    remedy = "as many elements; give src.reshape(dst.shape) if they are to pair in C order";
  raise(PyExc_ValueError, "dst has shape " + shape_text(dst) + " and src " + shape_text(src) + ": " + remedy);
}

int threads_of(PyObject* threads) {
  if (threads == nullptr) return 0;
  const long long n = integer_of(threads, "threads");
  if (n < 0 || n > std::numeric_limits<int>::max())
    raise(PyExc_ValueError, "threads = " + std::to_string(n) + "; give 0 for the default or a positive count");
  return static_cast<int>(n);
}

const char* const kCopyDoc = R"(copy(dst, src, *, cast=False, stream=None, threads=0)
--

Copies every element of src to the element of dst at the same position.

dst, src: arrays of any library: NumPy, PyTorch, CuPy, JAX (src only), anything with __dlpack__, the buffer
    protocol or an array interface. Nothing is converted, moved between devices or copied on the way in.
Shape: equal. Broadcasting and transposing are views of yours: src.T, numpy.broadcast_to(src, dst.shape).
Strides: any, of either sign, 0 in src only.
dtype: equal, unless cast=True, which converts in the same pass (docs/casts.md says how).
Alias: dst may not overlap src (the identical view is a no-op) and may not hold an element twice.
stream: on a GPU the copy is ordered on the current stream of dst's framework and not waited for. A stream of
    torch, CuPy, Numba or cuda.core, or a handle, takes its place; work of yours on other streams is then yours
    to order. Works while a CUDA graph is captured.
threads: on the CPU; 0 takes RESTRIDE_NUM_THREADS, then the cores this process may use, never more than pay.
Errors, before a byte is written: TypeError (no array, dtypes), ValueError (shapes, overlap, read-only),
    BufferError (memory that cannot be shared), RuntimeError (devices, streams).
Cost: one read and one write of every byte, and 1 us; the first call of a kind plans. The GIL is released.

>>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
>>> y = np.empty((3, 2), np.float32)
>>> restride.copy(y, x.T)
>>> y
array([[0., 3.],
       [1., 4.],
       [2., 5.]], dtype=float32)
)";

PyObject* copy(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    static const char* const kNames[] = {"dst", "src", "cast", "stream", "threads", nullptr};
    const Arguments given("copy", kNames, 2, args, nargs, kwnames);
    const Pair pair(given.required(0), given.required(1), stream_of(given[3]));
    check_shapes(pair.dst().layout(), pair.src().layout());
    pair.check_kinds(given.flag(2, false));
    pair.check_devices();
    run(pair, pair.dst().layout(), pair.src().layout(), pair.options(threads_of(given[4])));
    return Py_NewRef(Py_None);
  });
}

PyObject* move(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    static const char* const kNames[] = {"dst", "src", "dst_view", "src_view", "cast", "stream", "threads", nullptr};
    const Arguments given("_move", kNames, 4, args, nargs, kwnames);
    const Pair pair(given.required(0), given.required(1), stream_of(given[5]));
    const Layout &dst = viewed(pair.dst(), given[2]), &src = viewed(pair.src(), given[3]);
    pair.check_kinds(given.flag(4, false));
    pair.check_devices();
    Options options = pair.options(threads_of(given[6]));
    options.reshape = true;
    run(pair, dst, src, options);
    return Py_NewRef(Py_None);
  });
}

}  // namespace restride::python
