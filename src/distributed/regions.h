// What the ranks of a checked distribution have, as combs: for the planner, which asks often.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <restride/distributed.hpp>

#include "src/distributed/comb.h"

namespace restride::distributed {

/// One comb a tensor axis.
using Region = std::vector<Comb>;

std::int64_t elements_of(const Region& region) noexcept;

/// The splits of one tensor axis as a function from a part's number to its comb.
class AxisParts {
 public:
  AxisParts(std::int64_t extent, const std::vector<Split>& splits, const Grid& grid);
  std::int64_t count() const noexcept { return count_; }
  Comb comb(std::int64_t part) const;
  /// Grid axes, the major one first: a part's number is their coordinates as digits.
  const std::vector<int>& grid_axes() const noexcept { return grid_axes_; }
  /// Parts [first, last) outside of which none has an index of `c`.
  std::pair<std::int64_t, std::int64_t> near(const Comb& c) const;

 private:
  struct Stage {
    SplitKind kind;
    std::int64_t block, first, parts;
  };
  std::int64_t extent_;
  std::int64_t count_ = 1;
  std::vector<Stage> stages_;
  std::vector<int> grid_axes_;
};

/// The grid of a distribution: ranks, their places, and which part of each tensor axis a place has.
class GridIndex {
 public:
  explicit GridIndex(const Distribution& d);
  std::int64_t places() const noexcept { return places_; }
  int rank(std::int64_t place) const { return rank_of_[static_cast<std::size_t>(place)]; }
  /// -1 for a rank outside of the grid.
  std::int64_t place(int rank) const {
    return rank >= 0 && rank < static_cast<int>(place_of_.size()) ? place_of_[static_cast<std::size_t>(rank)] : -1;
  }
  const std::vector<AxisParts>& axes() const noexcept { return axes_; }
  /// How much a part of tensor axis `a` adds to the place: the sum over its grid axes. Places are sums of these and of
  /// a replica's, because each grid axis is used once.
  std::int64_t place_of_part(std::size_t a, std::int64_t part) const;
  std::int64_t part_of_place(std::size_t a, std::int64_t place) const;
  /// Copies of the tensor: the product of the sizes of grid axes that split nothing.
  std::int64_t replicas() const noexcept { return replicas_; }
  std::int64_t place_of_replica(std::int64_t replica) const { return digits_to_place(free_axes_, replica); }
  std::int64_t replica_of_place(std::int64_t place) const { return place_to_digits(free_axes_, place); }
  Region region(std::int64_t place) const;

 private:
  std::int64_t digits_to_place(const std::vector<int>& axes, std::int64_t digits) const;
  std::int64_t place_to_digits(const std::vector<int>& axes, std::int64_t place) const;

  std::int64_t places_ = 1, replicas_ = 1;
  std::vector<std::int64_t> sizes_, weights_;  ///< of the grid's axes; a place is the sum of coordinate * weight
  std::vector<int> free_axes_;
  std::vector<AxisParts> axes_;
  std::vector<std::int32_t> rank_of_, place_of_;
};

/// A rank's regions.
std::vector<Region> regions(const Distribution& d, int rank);
/// The region of a box.
Region region_of(const Box& box);

/// `order` or the C order that stands for none.
std::vector<int> memory_order(const Distribution& d);

/// A dense layout of a region, first element at `offset_bytes`.
Layout dense_layout(const Region& region, const std::vector<int>& order, Element element, std::int64_t offset_bytes);

/// "(3,4)"
std::string listed(const std::vector<std::int64_t>& values);
std::string listed(const std::vector<int>& values);

}  // namespace restride::distributed
