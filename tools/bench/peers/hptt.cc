#include <hptt.h>

#include <memory>
#include <utility>

#include "tools/bench/peers/dense.h"
#include "tools/bench/peers/module.h"

namespace restride::bench {
namespace {

template <class T>
void add(std::vector<Peer>& out, const Case& c, int threads) {
  const auto dense = dense_permutation(c);
  if (!dense) return;
  Peer peer;
  peer.name = "HPTT";
  // Tuned by the first call, which is the check and not timed: HPTT times its candidates for up to 10 s.
  peer.run = [dense = *dense, threads,
              plan = std::make_shared<std::shared_ptr<hptt::Transpose<T>>>()](const Slot& slot) {
    const T* const src = reinterpret_cast<const T*>(slot.src);
    T* const dst = reinterpret_cast<T*>(slot.dst);
    if (*plan == nullptr) {
      const int rank = static_cast<int>(dense.sizes.size());
      *plan = hptt::create_plan(dense.permutation.data(), rank, T{1}, src, dense.sizes.data(), nullptr, T{0}, dst,
                                nullptr, hptt::MEASURE, threads);
    }
    (*plan)->setInputPtr(src);
    (*plan)->setOutputPtr(dst);
    (*plan)->execute();
  };
  out.push_back(std::move(peer));
}

}  // namespace

void add_hptt_peer(std::vector<Peer>& out, const Case& c, int threads) {
  if (c.src.layout.offset_bytes != 0 || c.dst.layout.offset_bytes != 0) return;
  if (c.src.layout.element == Element(DType::kF32)) add<float>(out, c, threads);
  if (c.src.layout.element == Element(DType::kF64)) add<double>(out, c, threads);
}

}  // namespace restride::bench
