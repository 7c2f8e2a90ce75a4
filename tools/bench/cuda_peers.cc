// cuBLAS geam, cuTENSOR permutation and cudaMemcpy2D as peers. The two libraries are loaded at run time when they
// are found, so neither their headers nor the libraries are needed to build; the few prototypes used are below.
#include <dlfcn.h>

#include <array>
#include <numeric>

#include "tools/bench/cuda_device.h"
#include "tools/bench/joint_modes.h"

namespace restride::bench {
namespace {

void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

template <class Function>
bool load(Function& function, void* library, const char* name) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// ---- cuBLAS: C = alpha * op(A) + beta * op(B), column-major, leading dimensions in elements ----

template <class T>
using Geam = int (*)(void*, int, int, int, int, const T*, const T*, int, const T*, const T*, int, T*, int);
struct Complex32 {
  float re, im;
};
struct Complex64 {
  double re, im;
};

struct Cublas {
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, cudaStream_t) = nullptr;
  Geam<float> sgeam = nullptr;
  Geam<double> dgeam = nullptr;
  Geam<Complex32> cgeam = nullptr;
  Geam<Complex64> zgeam = nullptr;
  void* handle = nullptr;

  Cublas() {
    void* library = open_first({"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
    const bool whole = load(create, library, "cublasCreate_v2") && load(set_stream, library, "cublasSetStream_v2") &&
                       load(sgeam, library, "cublasSgeam") && load(dgeam, library, "cublasDgeam") &&
                       load(cgeam, library, "cublasCgeam") && load(zgeam, library, "cublasZgeam");
    if (!whole || create(&handle) != 0) handle = nullptr;
  }
};

const Cublas& cublas() {
  static const Cublas library;
  return library;
}

template <class T>
std::function<void(const Slot&)> geam_run(const Case& c, const MatrixBatch& m, Geam<T> geam, cudaStream_t stream, T one,
                                          T zero) {
  const auto lda = static_cast<int>(m.columns.src_stride / static_cast<std::int64_t>(sizeof(T)));
  const auto ldc = static_cast<int>(m.rows.dst_stride / static_cast<std::int64_t>(sizeof(T)));
  return [=, dst_offset = c.dst.layout.offset_bytes, src_offset = c.src.layout.offset_bytes](const Slot& slot) {
    cublas().set_stream(cublas().handle, stream);
    for_each_matrix(m.batch, [&](std::int64_t d, std::int64_t s) {
      auto* out = reinterpret_cast<T*>(slot.dst + dst_offset + d);
      const auto* in = reinterpret_cast<const T*>(slot.src + src_offset + s);
      geam(cublas().handle, 1, 0, static_cast<int>(m.columns.extent), static_cast<int>(m.rows.extent), &one, in, lda,
           &zero, out, ldc, out, ldc);
    });
  };
}

void add_geam(std::vector<Peer>& out, const Case& c, cudaStream_t stream) {
  constexpr std::int64_t kMostCalls = 1024;  // geam knows no batches
  const auto m = matrix_batch(c);
  if (cublas().handle == nullptr || !m || m->count > kMostCalls) return;
  if (m->columns.extent > INT32_MAX || m->rows.extent > INT32_MAX) return;
  Peer peer;
  peer.name = "cuBLAS geam";
  switch (c.src.layout.element.dtype) {
    case DType::kF32: peer.run = geam_run<float>(c, *m, cublas().sgeam, stream, 1, 0); break;
    case DType::kF64: peer.run = geam_run<double>(c, *m, cublas().dgeam, stream, 1, 0); break;
    case DType::kC64: peer.run = geam_run<Complex32>(c, *m, cublas().cgeam, stream, {1, 0}, {0, 0}); break;
    case DType::kC128: peer.run = geam_run<Complex64>(c, *m, cublas().zgeam, stream, {1, 0}, {0, 0}); break;
    default: return;
  }
  out.push_back(std::move(peer));
}

// ---- cuTENSOR 2: B_modes = alpha * A_modes; strides in elements ----

struct Cutensor {
  int (*create)(void**) = nullptr;
  int (*create_tensor)(void*, void**, std::uint32_t, const std::int64_t*, const std::int64_t*, int,
                       std::uint32_t) = nullptr;
  int (*destroy_tensor)(void*) = nullptr;
  int (*create_permutation)(void*, void**, void*, const std::int32_t*, int, void*, const std::int32_t*,
                            void*) = nullptr;
  int (*destroy_operation)(void*) = nullptr;
  int (*create_preference)(void*, void**, int, int) = nullptr;
  int (*destroy_preference)(void*) = nullptr;
  int (*create_plan)(void*, void**, void*, void*, std::uint64_t) = nullptr;
  int (*destroy_plan)(void*) = nullptr;
  int (*permute)(void*, void*, const void*, const void*, void*, cudaStream_t) = nullptr;
  void** compute_32f = nullptr;
  void** compute_64f = nullptr;
  void* handle = nullptr;

  Cutensor() {
    void* library = open_first({"libcutensor.so.2", "libcutensor.so"});
    const bool whole =
        load(create, library, "cutensorCreate") && load(create_tensor, library, "cutensorCreateTensorDescriptor") &&
        load(destroy_tensor, library, "cutensorDestroyTensorDescriptor") &&
        load(create_permutation, library, "cutensorCreatePermutation") &&
        load(destroy_operation, library, "cutensorDestroyOperationDescriptor") &&
        load(create_preference, library, "cutensorCreatePlanPreference") &&
        load(destroy_preference, library, "cutensorDestroyPlanPreference") &&
        load(create_plan, library, "cutensorCreatePlan") && load(destroy_plan, library, "cutensorDestroyPlan") &&
        load(permute, library, "cutensorPermute") && load(compute_32f, library, "CUTENSOR_COMPUTE_DESC_32F") &&
        load(compute_64f, library, "CUTENSOR_COMPUTE_DESC_64F");
    if (!whole || create(&handle) != 0) handle = nullptr;
  }
};

const Cutensor& cutensor() {
  static const Cutensor library;
  return library;
}

/// cudaDataType of a dtype that cuTENSOR permutes; -1 for the others.
int cuda_data_type(DType t) {
  switch (t) {
    case DType::kF32: return 0;
    case DType::kF64: return 1;
    case DType::kF16: return 2;
    case DType::kC64: return 4;
    case DType::kC128: return 5;
    case DType::kBF16: return 14;
    default: return -1;
  }
}

/// A plan with everything it was made from released again; null when cuTENSOR refuses the case.
std::shared_ptr<void> cutensor_plan(const std::vector<JointMode>& modes, DType type) {
  constexpr int kIdentity = 1, kDefaultAlgorithm = -1, kNoJit = 0;
  constexpr std::uint32_t kAlign = 128;
  const Cutensor& lib = cutensor();
  std::vector<std::int64_t> extents, dst_strides, src_strides;
  std::vector<std::int32_t> names(modes.size());
  std::iota(names.begin(), names.end(), 0);
  const std::int64_t size = size_bytes(type);
  for (const JointMode& mode : modes) {
    if (mode.src_stride <= 0 || mode.src_stride % size != 0 || mode.dst_stride % size != 0) return nullptr;
    extents.push_back(mode.extent);
    dst_strides.push_back(mode.dst_stride / size);
    src_strides.push_back(mode.src_stride / size);
  }
  const auto rank = static_cast<std::uint32_t>(modes.size());
  const bool wide = type == DType::kF64 || type == DType::kC128;
  void *from = nullptr, *to = nullptr, *operation = nullptr, *preference = nullptr, *plan = nullptr;
  const bool made =
      lib.create_tensor(lib.handle, &from, rank, extents.data(), src_strides.data(), cuda_data_type(type), kAlign) ==
          0 &&
      lib.create_tensor(lib.handle, &to, rank, extents.data(), dst_strides.data(), cuda_data_type(type), kAlign) == 0 &&
      lib.create_permutation(lib.handle, &operation, from, names.data(), kIdentity, to, names.data(),
                             wide ? *lib.compute_64f : *lib.compute_32f) == 0 &&
      lib.create_preference(lib.handle, &preference, kDefaultAlgorithm, kNoJit) == 0 &&
      lib.create_plan(lib.handle, &plan, operation, preference, 0) == 0;
  if (preference != nullptr) lib.destroy_preference(preference);
  if (operation != nullptr) lib.destroy_operation(operation);
  if (to != nullptr) lib.destroy_tensor(to);
  if (from != nullptr) lib.destroy_tensor(from);
  if (!made) return nullptr;
  return {plan, [](void* p) { cutensor().destroy_plan(p); }};
}

void add_cutensor(std::vector<Peer>& out, const Case& c, cudaStream_t stream) {
  const auto modes = joint_modes(c);
  const DType type = c.src.layout.element.dtype;
  const bool placed = c.src.layout.offset_bytes % 128 == 0 && c.dst.layout.offset_bytes % 128 == 0;
  if (cutensor().handle == nullptr || !modes || modes->empty() || !placed) return;
  if (c.src.layout.element != c.dst.layout.element || cuda_data_type(type) < 0) return;
  const std::shared_ptr<void> plan = cutensor_plan(*modes, type);
  if (plan == nullptr) return;
  Peer peer;
  peer.name = "cuTENSOR";
  // The scalar's type follows the compute type; 1 + 0i serves all.
  peer.run = [plan, stream, type, dst_offset = c.dst.layout.offset_bytes,
              src_offset = c.src.layout.offset_bytes](const Slot& slot) {
    static const std::array<float, 2> kOne32 = {1, 0};
    static const std::array<double, 2> kOne64 = {1, 0};
    const bool wide = type == DType::kF64 || type == DType::kC128;
    const void* one = wide ? static_cast<const void*>(kOne64.data()) : kOne32.data();
    cutensor().permute(cutensor().handle, plan.get(), one, slot.src + src_offset, slot.dst + dst_offset, stream);
  };
  out.push_back(std::move(peer));
}

// ---- cudaMemcpy2D: rows of bytes, pitched on either side ----

void add_memcpy2d(std::vector<Peer>& out, const Case& c, cudaStream_t stream) {
  const auto modes = joint_modes(c);
  const std::int64_t size = c.src.layout.element.size_bytes;
  if (!modes || modes->size() != 2 || c.src.layout.element != c.dst.layout.element) return;
  const JointMode row = modes->at(0), rows = modes->at(1);
  const std::int64_t width = row.extent * size;
  if (row.dst_stride != size || row.src_stride != size || rows.src_stride < width || rows.dst_stride < width) return;
  Peer peer;
  peer.name = "cudaMemcpy2D";
  peer.run = [=, dst_offset = c.dst.layout.offset_bytes, src_offset = c.src.layout.offset_bytes](const Slot& slot) {
    cudaMemcpy2DAsync(slot.dst + dst_offset, static_cast<std::size_t>(rows.dst_stride), slot.src + src_offset,
                      static_cast<std::size_t>(rows.src_stride), static_cast<std::size_t>(width),
                      static_cast<std::size_t>(rows.extent), cudaMemcpyDeviceToDevice, stream);
  };
  out.push_back(std::move(peer));
}

}  // namespace

std::vector<Peer> cuda_peers(const Case& c, cudaStream_t stream) {
  std::vector<Peer> out;
  add_geam(out, c, stream);
  add_cutensor(out, c, stream);
  add_memcpy2d(out, c, stream);
  return out;
}

std::vector<std::string> cuda_peer_names() {
  std::vector<std::string> out{"cudaMemcpy2D"};
  if (cublas().handle != nullptr) out.push_back("cuBLAS geam");
  if (cutensor().handle != nullptr) out.push_back("cuTENSOR");
  return out;
}

}  // namespace restride::bench
