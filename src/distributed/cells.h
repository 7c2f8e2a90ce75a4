// Boxes of a source as disjoint cells, each with the ranks that have it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <restride/distributed.hpp>

#include "src/distributed/regions.h"

namespace restride::distributed {

/// A rank that has a cell, in which of its regions, and where that region begins on every axis.
struct CellOwner {
  int rank = 0;
  int region = 0;
  const Box* box = nullptr;  ///< of the distribution that the cells were made from
};

struct Cell {
  std::vector<std::int64_t> lo, hi;
  std::vector<CellOwner> owners;  ///< by ascending rank, each rank once
};

/// The cells of all boxes that are not empty, by ascending lo. Boxes that overlap are cut; equal ones are one cell with
/// several owners. `d` must stay where it is.
/// Cost: sorting, and where boxes overlap their number times that of the cells they come to.
std::vector<Cell> cells_of(const Distribution& d);

/// The first index in C order that `region` has and no cell of `cells` does.
std::optional<std::vector<std::int64_t>> first_missing(const Region& region, const std::vector<Cell>& cells);

}  // namespace restride::distributed
