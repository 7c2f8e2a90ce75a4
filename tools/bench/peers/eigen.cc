#define EIGEN_USE_THREADS
#include <complex>
#include <memory>

#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>

#include "tools/bench/peers/dense.h"
#include "tools/bench/peers/module.h"

namespace restride::bench {
namespace {

/// Matrices: B = A^T through maps with strides. Eigen assigns on one thread.
template <class T>
std::function<void(const Slot&)> matrices(const Case& c, const MatrixBatch& m) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  return [m, dst = c.dst.layout.offset_bytes, src = c.src.layout.offset_bytes](const Slot& slot) {
    for_each_matrix(m.batch, [&](std::int64_t d, std::int64_t s) {
      const Eigen::Map<const Matrix, 0, Stride> a(reinterpret_cast<const T*>(slot.src + src + s), m.columns.extent,
                                                  m.rows.extent, Stride(m.columns.src_stride / kSize));
      Eigen::Map<Matrix, 0, Stride> b(reinterpret_cast<T*>(slot.dst + dst + d), m.rows.extent, m.columns.extent,
                                      Stride(m.rows.dst_stride / kSize));
      b.noalias() = a.transpose();
    });
  };
}

/// Dense tensors: a shuffle on Eigen's own thread pool.
template <class T, int Rank>
std::function<void(const Slot&)> shuffle(const DensePermutation& p, int threads) {
  Eigen::array<Eigen::Index, Rank> from, to;
  Eigen::array<int, Rank> order;
  for (int m = 0; m < Rank; ++m) from[m] = p.sizes[m];
  for (int m = 0; m < Rank; ++m) {
    order[m] = p.permutation[m];
    to[m] = from[order[m]];
  }
  const auto pool = std::make_shared<Eigen::ThreadPool>(threads);
  const auto device = std::make_shared<Eigen::ThreadPoolDevice>(pool.get(), threads);
  return [=](const Slot& slot) {
    (void)pool;  // outlives the device
    const Eigen::TensorMap<Eigen::Tensor<const T, Rank>> a(reinterpret_cast<const T*>(slot.src), from);
    Eigen::TensorMap<Eigen::Tensor<T, Rank>> b(reinterpret_cast<T*>(slot.dst), to);
    b.device(*device) = a.shuffle(order);
  };
}

template <class T>
std::function<void(const Slot&)> pick(const Case& c, int threads) {
  if (const auto m = matrix_batch(c)) return matrices<T>(c, *m);
  const auto p = dense_permutation(c);
  if (!p || c.src.layout.offset_bytes != 0 || c.dst.layout.offset_bytes != 0) return nullptr;
  switch (p->sizes.size()) {
    case 3: return shuffle<T, 3>(*p, threads);
    case 4: return shuffle<T, 4>(*p, threads);
    case 5: return shuffle<T, 5>(*p, threads);
    case 6: return shuffle<T, 6>(*p, threads);
    default: return nullptr;
  }
}

}  // namespace

void add_eigen_peer(std::vector<Peer>& out, const Case& c, int threads) {
  if (c.src.layout.element != c.dst.layout.element) return;
  Peer peer;
  peer.name = "Eigen";
  switch (c.src.layout.element.size_bytes) {
    case 1: peer.run = pick<std::uint8_t>(c, threads); break;
    case 4: peer.run = pick<float>(c, threads); break;
    case 8: peer.run = pick<double>(c, threads); break;
    case 2:
      if (const auto m = matrix_batch(c)) peer.run = matrices<std::uint16_t>(c, *m);
      break;
    case 16:
      if (const auto m = matrix_batch(c)) peer.run = matrices<std::complex<double>>(c, *m);
      break;
    default: break;
  }
  if (peer.run) out.push_back(std::move(peer));
}

}  // namespace restride::bench
