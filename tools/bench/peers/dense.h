// A case as a permutation of a dense tensor: what libraries take that know neither strides nor pitches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "tools/bench/joint_modes.h"

namespace restride::bench {

/// Sizes of the source, fastest first; mode j of the destination (fastest first) is mode permutation[j] of it.
struct DensePermutation {
  std::vector<int> sizes;
  std::vector<int> permutation;
};

inline std::optional<DensePermutation> dense_permutation(const Case& c) {
  const auto modes = joint_modes(c);
  if (!modes || modes->empty() || c.src.layout.element != c.dst.layout.element) return std::nullopt;
  std::vector<int> order(modes->size());  // the source's modes, fastest first
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return modes->at(a).src_stride < modes->at(b).src_stride; });
  DensePermutation out;
  out.permutation.resize(modes->size());
  std::int64_t src = c.src.layout.element.size_bytes, dst = src;
  for (std::size_t i = 0; i < modes->size(); ++i) {
    const JointMode& from = modes->at(order[i]);
    if (from.src_stride != src || modes->at(i).dst_stride != dst || from.extent > INT32_MAX) return std::nullopt;
    src *= from.extent;
    dst *= modes->at(i).extent;
    out.sizes.push_back(static_cast<int>(from.extent));
    out.permutation[order[i]] = static_cast<int>(i);
  }
  return out;
}

}  // namespace restride::bench
