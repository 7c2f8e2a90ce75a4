// The peers inside the module; see peers.h.
#pragma once

#include <vector>

#include "tools/bench/device.h"

namespace restride::bench {

/// Transposed assignment of maps for matrices, Tensor shuffles for higher ranks.
void add_eigen_peer(std::vector<Peer>& out, const Case& c, int threads);

/// The reorder primitive between two strided memory descriptors, casts included.
void add_onednn_peer(std::vector<Peer>& out, const Case& c, int threads);

}  // namespace restride::bench
