// The peers inside the module; see peers.h.
#pragma once

#include <vector>

#include "tools/bench/device.h"

namespace restride::bench {

/// A permutation of a dense tensor of f32 or f64, by a plan that HPTT tuned (its MEASURE).
void add_hptt_peer(std::vector<Peer>& out, const Case& c, int threads);

/// Transposed assignment of maps for matrices, Tensor shuffles for higher ranks.
void add_eigen_peer(std::vector<Peer>& out, const Case& c, int threads);

/// The reorder primitive between two strided memory descriptors, casts included.
void add_onednn_peer(std::vector<Peer>& out, const Case& c, int threads);

}  // namespace restride::bench
