// The module's entrance: librestride_bench_peers.so, loaded by peers.cc.
#include "tools/bench/peers/module.h"

#include <string>

using restride::bench::Case;
using restride::bench::Peer;

extern "C" {

__attribute__((visibility("default"))) void restride_bench_add_peers(std::vector<Peer>* out, const Case* c,
                                                                     int threads) {
#ifdef RESTRIDE_BENCH_HPTT
  restride::bench::add_hptt_peer(*out, *c, threads);
#endif
#ifdef RESTRIDE_BENCH_EIGEN
  restride::bench::add_eigen_peer(*out, *c, threads);
#endif
#ifdef RESTRIDE_BENCH_ONEDNN
  restride::bench::add_onednn_peer(*out, *c, threads);
#endif
}

__attribute__((visibility("default"))) void restride_bench_name_peers(std::vector<std::string>* out) {
#ifdef RESTRIDE_BENCH_HPTT
  out->push_back("HPTT");
#endif
#ifdef RESTRIDE_BENCH_EIGEN
  out->push_back("Eigen");
#endif
#ifdef RESTRIDE_BENCH_ONEDNN
  out->push_back("oneDNN");
#endif
}

}  // extern "C"
