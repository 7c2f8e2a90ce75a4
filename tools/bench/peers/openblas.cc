#include <dlfcn.h>

#include "tools/bench/joint_modes.h"
#include "tools/bench/peers/peers.h"

namespace restride::bench {
namespace {

constexpr int kRowMajor = 101, kTranspose = 112;  // CBLAS's enumerators

// Scalars by value for real types, by address for complex ones; sizes are int in the usual build.
using Real32 = void (*)(int, int, int, int, float, const float*, int, float*, int);
using Real64 = void (*)(int, int, int, int, double, const double*, int, double*, int);
using Complex = void (*)(int, int, int, int, const void*, const void*, int, void*, int);

struct OpenBlas {
  Real32 somatcopy = nullptr;
  Real64 domatcopy = nullptr;
  Complex comatcopy = nullptr, zomatcopy = nullptr;

  OpenBlas() {
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    somatcopy = reinterpret_cast<Real32>(dlsym(library, "cblas_somatcopy"));
    domatcopy = reinterpret_cast<Real64>(dlsym(library, "cblas_domatcopy"));
    comatcopy = reinterpret_cast<Complex>(dlsym(library, "cblas_comatcopy"));
    zomatcopy = reinterpret_cast<Complex>(dlsym(library, "cblas_zomatcopy"));
  }
  bool whole() const { return somatcopy && domatcopy && comatcopy && zomatcopy; }
};

const OpenBlas& library() {
  static const OpenBlas loaded;
  return loaded;
}

/// One omatcopy a matrix of the batch: rows of the source are dense, so it is `columns.extent` rows high.
void transpose(const MatrixBatch& m, DType type, std::byte* dst, const std::byte* src) {
  const std::int64_t size = size_bytes(type);
  const int rows = static_cast<int>(m.columns.extent), columns = static_cast<int>(m.rows.extent);
  const int lda = static_cast<int>(m.columns.src_stride / size), ldb = static_cast<int>(m.rows.dst_stride / size);
  static const float kOne32[2] = {1, 0};
  static const double kOne64[2] = {1, 0};
  for_each_matrix(m.batch, [&](std::int64_t d, std::int64_t s) {
    std::byte* b = dst + d;
    const std::byte* a = src + s;
    switch (type) {
      case DType::kF32:
        return library().somatcopy(kRowMajor, kTranspose, rows, columns, 1, reinterpret_cast<const float*>(a), lda,
                                   reinterpret_cast<float*>(b), ldb);
      case DType::kF64:
        return library().domatcopy(kRowMajor, kTranspose, rows, columns, 1, reinterpret_cast<const double*>(a), lda,
                                   reinterpret_cast<double*>(b), ldb);
      case DType::kC64: return library().comatcopy(kRowMajor, kTranspose, rows, columns, kOne32, a, lda, b, ldb);
      default: return library().zomatcopy(kRowMajor, kTranspose, rows, columns, kOne64, a, lda, b, ldb);
    }
  });
}

}  // namespace

bool has_openblas() { return library().whole(); }

void add_openblas_peer(std::vector<Peer>& out, const Case& c) {
  const DType type = c.src.layout.element.dtype;
  const auto m = matrix_batch(c);
  if (!m || !library().whole()) return;
  if (type != DType::kF32 && type != DType::kF64 && type != DType::kC64 && type != DType::kC128) return;
  if (m->columns.extent > INT32_MAX || m->rows.extent > INT32_MAX) return;
  Peer peer;
  peer.name = "OpenBLAS";
  peer.run = [m = *m, type, dst = c.dst.layout.offset_bytes, src = c.src.layout.offset_bytes](const Slot& slot) {
    transpose(m, type, slot.dst + dst, slot.src + src);
  };
  out.push_back(std::move(peer));
}

}  // namespace restride::bench
