// The planner's inside: for a rank, the parts that it exchanges with each of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <restride/distributed.hpp>

#include "src/distributed/cells.h"
#include "src/distributed/regions.h"

namespace restride::distributed {

/// The contiguous runs of an axis in one side's memory, in indices.
struct AxisRuns {
  std::int64_t shortest = 0, longest = 0;
  bool all = false;  ///< one run that is all the rank has on the axis, so that the next axis may prolong it
};

/// The intersection of two combs, with the facts about it that every pair of ranks needs.
struct AxisMeeting {
  AxisPieces pieces;
  std::int64_t size = 0;
  AxisRuns src, dst;
};

/// What one region of the source gives to one of the target: the product over the axes of their pieces.
struct Part {
  int src_region = 0, dst_region = 0;
  std::int64_t cell = 0;  ///< of a source of boxes; with the target's region the order of the parts of a pair
  std::int64_t elements = 0;
  std::vector<AxisPieces> axes;
};

/// All that passes between a rank and a peer, in the same order on both.
struct PairParts {
  int peer = 0;
  std::int64_t elements = 0;
  std::vector<Part> parts;
};

/// A part as it is met; `axes` are valid during the call only.
struct PartView {
  int peer = 0;
  int src_region = 0, dst_region = 0;
  std::int64_t cell = 0;
  std::int64_t elements = 0;
  std::span<const AxisMeeting* const> axes;
};

struct Exchange::Impl {
  Distribution src, dst;
  Element src_element, dst_element, wire;
  int ranks = 0;
  std::optional<GridIndex> src_grid, dst_grid;      ///< none: boxes
  std::vector<Cell> cells;                          ///< of a source of boxes
  std::vector<std::pair<int, std::int64_t>> owned;  ///< (rank, cell), sorted: the cells that a rank has
  struct Target {
    int rank, region;
    Region axes;
  };
  std::vector<Target> targets;  ///< the boxes of a target of boxes, empty ones left out, by ascending rank and region
  std::vector<int> src_order, dst_order;

  using Visit = std::function<void(const PartView&)>;
  void visit_sends(int rank, const Visit& visit) const;
  void visit_receives(int rank, const Visit& visit) const;
  std::vector<PairParts> sends(int rank) const;
  std::vector<PairParts> receives(int rank) const;
  /// Elements of the target's regions on `rank` that it has in the source itself.
  std::int64_t kept_elements(int rank) const;
  std::int64_t target_elements(int rank) const;

 private:
  std::int64_t replica_for(int to) const;
  int owner_of(std::int64_t cell, int to) const;
  /// Of source and target; `src_shift` is added to the source's local numbers.
  static void meet(const Comb& src, const Comb& dst, std::int64_t src_shift, std::int64_t src_extent,
                   std::int64_t dst_extent, AxisMeeting& out);
};

/// The shortest and longest contiguous run of a part in the memory of one side, in elements.
struct Runs {
  std::int64_t shortest = 0, longest = 0;
};
Runs runs_of(std::span<const AxisMeeting* const> axes, const std::vector<int>& order, AxisRuns AxisMeeting::*side);

}  // namespace restride::distributed
