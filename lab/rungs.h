// The lab's rungs, one row each, in the order in which docs/lab.md tells them.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "lab/maps/access.h"
#include "lab/traffic.h"
#include "src/plan/trace.h"

struct CUstream_st;  // cudaStream_t is a pointer to this: the table needs no CUDA header

namespace restride::lab {

/// What a rung computes.
enum class Moves {
  kCopy,           ///< dst = src
  kTranspose,      ///< dst[b][col][row] = src[b][row][col]
  kTransposeToF16  ///< the same from f32 to f16
};

/// One launch. `src` and `dst` are device pointers, aligned to 256 bytes.
struct Job {
  Matrix shape;
  int element_bytes = 4;  ///< of the source: 4, 2 or 1
  const void* src = nullptr;
  void* dst = nullptr;
  CUstream_st* stream = nullptr;
};

struct Rung {
  std::string_view name;
  Moves moves = Moves::kTranspose;
  bool batched = false;  ///< measured on a batch of small matrices instead of one
  Traffic (*traffic)(const Matrix& shape, int element_bytes) = nullptr;  ///< from the map, on the CPU
  plan::Trace (*trace)(const Matrix& shape, int element_bytes, std::int64_t tile) = nullptr;  ///< null: it has no map
  void (*launch)(const Job& job) = nullptr;  ///< null in a build without CUDA; asynchronous on job.stream

  bool faulty = false;  ///< wrong on purpose: run only when named

  /// Whether the rung is for elements of this size: the cast only for 4.
  bool takes(int element_bytes) const { return moves != Moves::kTransposeToF16 || element_bytes == 4; }
  int dst_element_bytes(int element_bytes) const { return moves == Moves::kTransposeToF16 ? 2 : element_bytes; }
  /// Read once and written once.
  std::int64_t bytes(const Matrix& shape, int element_bytes) const {
    return shape.elements() * (element_bytes + dst_element_bytes(element_bytes));
  }
  /// The shape measured for size x size elements: a batched rung's is a batch of 256 x 256,
  /// or of 255 x 257 for sizes that are no multiple of 256.
  Matrix measured_shape(int size) const;
};

std::span<const Rung> rungs();

/// The rung of this name. Errors: std::invalid_argument, which lists the names there are.
const Rung& find_rung(std::string_view name);

/// A launch that the card or its driver refused, or a shape past a rung's limits.
class LaunchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace restride::lab
