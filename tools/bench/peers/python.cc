#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/bench/peers/peers.h"

namespace restride::bench {
namespace {

// Prints the median nanoseconds of NumPy's copyto or PyTorch's copy_ between the case's views; or, when it cannot do
// the case or its output is wrong, why not. argv: the library, the case as JSON, bytes of cache to leave behind,
// repetitions, threads. Views are NumPy's for both, and what NumPy copies or casts is what PyTorch's output is held to.
constexpr const char* kScript = R"(
import json, sys, time
import numpy as np
library, case, cache, reps, threads = sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:6])
def give_up(why):
    print('no:', why)
    sys.exit(0)
NAMES = {'bool': '?', 'u8': 'u1', 'u16': 'u2', 'u32': 'u4', 'u64': 'u8', 'i8': 'i1', 'i16': 'i2', 'i32': 'i4', 'i64': 'i8',
         'f16': 'f2', 'f32': 'f4', 'f64': 'f8', 'c64': 'c8', 'c128': 'c16'}
BITS = {'bf16': 'u2', 'f8e4m3': 'u1', 'f8e5m2': 'u1'}
cast = case['src'] != case['dst']
def dtype(name):
    if name in NAMES: return np.dtype(NAMES[name])
    if cast: give_up(f"NumPy, which makes and checks the tensors, has no {name} to cast")
    return np.dtype(BITS[name]) if name in BITS else np.dtype('V' + name[1:])
def index(slices):
    parts = lambda s: slice(*[int(p) if p else None for p in s.split(':')]) if ':' in s else int(s)
    return tuple(parts(s) for s in slices)
def span(shape, strides, size):
    # Of the first and last byte, from element zero's.
    if 0 in shape: return 0, 0
    ends = [(e - 1) * s for e, s in zip(shape, strides)]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends) + size
def strided(shape, strides, dtype, make):
    first, last = span(shape, strides, dtype.itemsize)
    return np.ndarray(shape, dtype, make(last - first), -first, strides)
rng = np.random.default_rng(1)
def pair():
    src_type, dst_type = dtype(case['src']), dtype(case['dst'])
    count = int(np.prod(case['shape'], dtype=np.int64))
    def values(count):
        if src_type.kind in 'fc' and cast: return rng.random(count, dtype=np.float32).astype(src_type)
        return rng.integers(0, 120, count * src_type.itemsize, dtype=np.uint8).view(src_type)
    if 'strides_bytes' in case:
        bytes_of = lambda n: values(-(-n // src_type.itemsize)).view(np.uint8)
        view = strided(case['shape'], case['strides_bytes'], src_type, bytes_of)
    else:
        view = values(count).reshape(case['shape'])
    if 'slice' in case: view = view[index(case['slice'])]
    if 'broadcast' in case: view = np.broadcast_to(view, case['broadcast'])
    if 'axes' in case: view = view.transpose(case['axes'])
    if 'dst_slice_of' in case:
        out = np.ones(case['dst_slice_of'], np.uint8).astype(dst_type) if dst_type.kind != 'V' else np.zeros(case['dst_slice_of'], dst_type)
        out = out[index(case['dst_slice'])]
    elif 'dst_strides_bytes' in case:
        out = strided(view.shape, case['dst_strides_bytes'], dst_type, lambda n: np.ones(n, np.uint8))
    else:
        out = np.zeros(case.get('dst_shape', view.shape), dst_type)
        out.view(np.uint8).fill(1)
        out = out.reshape(view.shape)
    return view, out
pairs = [pair()]
while len(pairs) * (pairs[0][0].nbytes + pairs[0][1].nbytes) < 2 * cache and len(pairs) < 16: pairs.append(pair())
src, out = pairs[0]
if library == 'torch':
    import warnings
    import torch
    warnings.simplefilter('ignore')  # of tensors that NumPy holds read-only: they are sources
    torch.set_num_threads(threads)
    TYPES = {'bf16': torch.bfloat16, 'f8e4m3': torch.float8_e4m3fn, 'f8e5m2': torch.float8_e5m2}
    def tensor(array, name):
        if any(s < 0 for s in array.strides): give_up('PyTorch has no strides below zero')
        if array.dtype.kind == 'V': give_up('PyTorch has no opaque elements')
        t = torch.from_numpy(array)
        return t.view(TYPES[name]) if name in TYPES else t
    tensors = [(tensor(s, case['src']), tensor(o, case['dst'])) for s, o in pairs]
    copy = lambda rep: tensors[rep % len(tensors)][1].copy_(tensors[rep % len(tensors)][0])
else:
    copy = lambda rep: np.copyto(pairs[rep % len(pairs)][1], pairs[rep % len(pairs)][0], casting='unsafe')
copy(0)
if not np.array_equal(out, src.astype(out.dtype)): give_up('its output is wrong')
times = []
for rep in range(reps):
    start = time.perf_counter_ns()
    copy(rep)
    times.append(time.perf_counter_ns() - start)
print(sorted(times)[len(times) // 2])
)";

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char ch : text) {
    if (ch == '\'')
      out += "'\\''";
    else
      out += ch;
  }
  return out + "'";
}

/// RESTRIDE_PYTHON, or python3.
std::string python() {
  const char* given = std::getenv("RESTRIDE_PYTHON");
  return given != nullptr && *given != '\0' ? quoted(given) : "python3";
}

/// What a shell command prints; "" when it fails.
std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string out;
  std::array<char, 256> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), n);
  const int status = pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? out : "";
}

/// True when that Python has the module.
bool has(const std::string& module) {
  const std::string script =
      "import importlib.util as u; print(int(all(u.find_spec(m) for m in ('numpy', '" + module + "'))))";
  return output_of(python() + " -c " + quoted(script) + " 2>/dev/null") == "1\n";
}

/// NumPy makes the tensors of both libraries, from 4 MiB on in huge pages where it is not told otherwise.
Peer python_peer(const std::string& library, const Case& c, const PeerTerms& on, int threads) {
  Peer peer;
  peer.name = library;
  peer.time_itself = [library, on, threads, json = to_json(c.spec)]() -> TimedItself {
    const std::string command = std::string("NUMPY_MADVISE_HUGEPAGE=") + (on.pages == Pages::kHuge ? "1 " : "0 ") +
                                python() + " -c " + quoted(kScript) + " " + library + " " + quoted(json) + " " +
                                std::to_string(on.cache_bytes) + " 5 " + std::to_string(threads) + " 2>/dev/null";
    const std::string printed = output_of(command);
    constexpr std::string_view kNo = "no: ";
    if (printed.starts_with(kNo)) return {-1, printed.substr(kNo.size(), printed.size() - kNo.size() - 1)};
    if (printed.empty()) return {-1, "it did not run to its end"};
    return {std::strtod(printed.c_str(), nullptr), ""};
  };
  return peer;
}

constexpr std::int64_t kSmallestBytes = 1 << 20;  // below, the interpreter is what would be timed

}  // namespace

std::string python_used() { return python(); }

bool has_numpy() {
  static const bool found = has("numpy");
  return found;
}

bool has_torch() {
  static const bool found = has("torch");
  return found;
}

void add_numpy_peer(std::vector<Peer>& out, const Case& c, const PeerTerms& on) {
  if (c.dst.useful_bytes >= kSmallestBytes && has_numpy()) out.push_back(python_peer("numpy", c, on, 1));
}

void add_torch_peer(std::vector<Peer>& out, const Case& c, const PeerTerms& on, int threads) {
  if (c.dst.useful_bytes >= kSmallestBytes && has_torch()) out.push_back(python_peer("torch", c, on, threads));
}

}  // namespace restride::bench
