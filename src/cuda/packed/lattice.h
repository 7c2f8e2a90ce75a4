// The lattices that packed's CUDA kernels may lay their threads in, over the words of lines: see PackedLattice.
#pragma once

#include <cstdint>

#include "src/cuda/packed/staged_map.h"

namespace restride::cuda::packed {

/// Steps of the lattice of `across` words side by side.
std::int64_t steps_of(std::int64_t words, std::int64_t lines, std::int64_t across,
                      std::int64_t threads = kPackedThreads);

PackedLattice lattice(std::int64_t words, std::int64_t lines, std::int64_t across,
                      std::int64_t threads = kPackedThreads);

/// Lattices by how many words lie side by side: all of a line, or parts of whole 128 bytes; narrower ones follow.
class Across {
 public:
  explicit Across(std::int64_t line_words, std::int64_t threads = kPackedThreads);
  /// 0 at the end.
  std::int64_t next();
  /// The first of the lattices that take least, of those that are left and at least `narrowest` wide; 0: none. A thread
  /// that goes on to other words loses `next_words` steps.
  std::int64_t best(std::int64_t lines, std::int64_t narrowest, double next_words = 0);

 private:
  void step();

  std::int64_t words_, threads_, most_groups_, groups_ = 1, across_ = 0;
};

/// The lattice over the words of pieces: the fewest steps, and of those the one with most words side by side.
PackedLattice load_lattice(std::int64_t words, std::int64_t pieces, std::int64_t threads);

}  // namespace restride::cuda::packed
