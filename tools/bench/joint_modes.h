// Both sides' modes side by side, simplified as a careful user of another library would: what the peers are given.
// Not the library's own canonical form, so that a slip in that one cannot hide behind the peers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/bench/case.h"

namespace restride::bench {

/// Strides in bytes.
struct JointMode {
  std::int64_t extent = 1;
  std::int64_t dst_stride = 0;
  std::int64_t src_stride = 0;
  friend bool operator==(const JointMode&, const JointMode&) = default;
};

/// Modes sorted by dst stride, innermost first, without extent-1 modes, neighbours that are contiguous on both
/// sides merged. Nothing when the shapes of the sides differ or dst strides are not positive.
std::optional<std::vector<JointMode>> joint_modes(const Case& c);

/// A batch of matrices, transposed: `columns` is fast in dst, `rows` is fast in src, the rest is batch.
struct MatrixBatch {
  JointMode columns, rows;
  std::vector<JointMode> batch;
  std::int64_t count = 1;  ///< matrices
};

/// The case as transposed matrices whose elements lie densely along one mode on either side, and whose other
/// strides are whole elements and at least the matrix wide; nothing when it is none.
std::optional<MatrixBatch> matrix_batch(const Case& c);

/// Calls body(dst_offset, src_offset) for every matrix of the batch.
template <class Body>
void for_each_matrix(const std::vector<JointMode>& batch, Body&& body, std::size_t mode = 0, std::int64_t dst = 0,
                     std::int64_t src = 0) {
  if (mode == batch.size()) return body(dst, src);
  for (std::int64_t i = 0; i < batch[mode].extent; ++i)
    for_each_matrix(batch, body, mode + 1, dst + i * batch[mode].dst_stride, src + i * batch[mode].src_stride);
}

}  // namespace restride::bench
