#include <dlfcn.h>

#include "tools/bench/peers/dense.h"
#include "tools/bench/peers/peers.h"

namespace restride::bench {
namespace {

// void ?TensorTranspose(perm, dim, alpha, A, sizeA, outerSizeA, beta, B, outerSizeB, numThreads, useRowMajor)
template <class T>
using Transpose = void (*)(const int*, int, T, const T*, const int*, const int*, T, T*, const int*, int, int);

template <class T>
Transpose<T> find(const char* name) {
  static void* const library = dlopen("libhptt.so", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Transpose<T>>(dlsym(library, name));
}

template <class T>
void add(std::vector<Peer>& out, const Case& c, int threads, Transpose<T> transpose) {
  const auto dense = dense_permutation(c);
  if (transpose == nullptr || !dense) return;
  Peer peer;
  peer.name = "HPTT";
  peer.run = [=, dense = *dense](const Slot& slot) {
    transpose(dense.permutation.data(), static_cast<int>(dense.sizes.size()), T{1},
              reinterpret_cast<const T*>(slot.src), dense.sizes.data(), nullptr, T{0}, reinterpret_cast<T*>(slot.dst),
              nullptr, threads, 0);
  };
  out.push_back(std::move(peer));
}

}  // namespace

bool has_hptt() { return find<float>("sTensorTranspose") != nullptr; }

void add_hptt_peer(std::vector<Peer>& out, const Case& c, int threads) {
  if (c.src.layout.offset_bytes != 0 || c.dst.layout.offset_bytes != 0) return;
  if (c.src.layout.element == Element(DType::kF32)) add<float>(out, c, threads, find<float>("sTensorTranspose"));
  if (c.src.layout.element == Element(DType::kF64)) add<double>(out, c, threads, find<double>("dTensorTranspose"));
}

}  // namespace restride::bench
