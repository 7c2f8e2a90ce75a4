// Measuring in front of a copy, so that neither is timed with the other.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>

#include <restride/copy.hpp>
#include <restride/measurements.hpp>

namespace restride::io {

/// Where `options` ask for measuring, measures what can do the copy and has the copy go by that. Returns seconds.
/// `options.measurements` must be there: they carry what was measured to the copy.
inline double measure_apart(const Tensor& to, const ConstTensor& from, Options& options) {
  if (!options.measure) return 0;
  const auto start = std::chrono::steady_clock::now();
  // As far as copy() looks, so that it finds the record.
  const auto alignment = [](const void* p) {
    return std::int64_t{1} << std::countr_zero(reinterpret_cast<std::uintptr_t>(p) | 128);
  };
  (void)Plan(to.layout, from.layout, options, alignment(to.data), alignment(from.data));
  options.measure = false;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace restride::io
