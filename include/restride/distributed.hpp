// Tensors that lie over many ranks: distributions, and exchanges of any one into any other.
//
// A global tensor is a shape. A Distribution says which of its elements each rank has. A Layout, the same as
// everywhere in restride, says where they lie in that rank's memory: it has one mode a tensor axis, whose extent is the
// number of indices the rank has on that axis. A permutation is a matter of the layouts' strides.
//
// The notation of a distribution, the same in tests, errors, command line and reports:
//
//     (8192,512) as (block[0],*) over (4)                      4 ranks, rows in balanced blocks, columns whole
//     (8192,512) as (*,block[0]) over (4)@4                    ranks 4 to 7, columns
//     (100,70) as (ceil[0],block[1]) over (2,3)                rank 3*i+j has block i of the rows and j of the columns
//     (100,70) as (cyclic:8[0],cyclic:8[1]) over (2,3):(1,2)   blocks of 8 dealt round; rank i+2*j: column by column
//     (100,70) as (block[1,0],*) over (2,3)                    one axis over two of the grid, grid axis 1 the major one
//     (100,70) as (ceil[0]/ceil[1],*) over (2,3)               each part of grid axis 0 is split over grid axis 1
//     (100,70) as (cyclic[0]@1,*) over (2)=(5,3)               block size 1, the first block on the second rank of 5, 3
//     (100,70) as (*,*) over (4)                               grid axes that split nothing replicate: 4 copies
//     (9,9) boxes 0[0:5,0:9] 1[5:9,0:4] 1[5:9,4:9]             explicit boxes, some a rank, or none
//     (8192,512) as (block[0],*) over (4) order (1,0)          each rank's part lies with axis 0 fastest
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <restride/copy.hpp>
#include <restride/detail/visibility.hpp>
#include <restride/layout.hpp>

namespace restride {
namespace distributed RESTRIDE_PUBLIC {

/// Ranks are numbered from 0; a planner takes up to this many.
inline constexpr int kMaxRanks = 1 << 20;

/// How the indices of one tensor axis are dealt out to the parts of a split.
enum class SplitKind : std::uint8_t {
  kBlock,   ///< n indices over p parts: the first n % p parts have one more than the others
  kCeil,    ///< parts of ceil(n / p) indices; the last ones may be shorter, or empty. As DTensor and JAX do
  kCyclic,  ///< blocks of `block` indices are dealt round and round. As ScaLAPACK does
};

/// One tensor axis, or a part of it, over one or several axes of the process grid.
struct Split {
  SplitKind kind = SplitKind::kBlock;
  std::vector<int> grid_axes;  ///< the major one first
  std::int64_t block = 1;      ///< kCyclic: indices a block, >= 1
  std::int64_t first = 0;      ///< kCyclic: the part that has the first block
  friend bool operator==(const Split&, const Split&) = default;
};

/// The ranks in a grid: that at (i, j, ...) is first + i*strides[0] + j*strides[1] + ..., or the one listed in
/// `ranks` at its place in C order.
struct Grid {
  std::vector<std::int64_t> sizes;    ///< each >= 1
  std::vector<std::int64_t> strides;  ///< empty: C order, the last axis fastest
  std::int64_t first = 0;             ///< the rank at (0, 0, ...)
  std::vector<int> ranks;             ///< empty, or one rank a place; then strides and first have no meaning
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// Indices [lo, hi) on every tensor axis, on one rank.
struct Box {
  int rank = 0;
  std::vector<std::int64_t> lo, hi;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Which rank has which elements of a global tensor: splits over a grid, or boxes. Elements may lie on several ranks.
/// Filled in by hand or parsed; every call that takes one checks it.
/// Example: `Distribution d{{8192, 512}}; d.grid.sizes = {4}; d.axes = {{{SplitKind::kBlock, {0}}}, {}};`
struct Distribution {
  std::vector<std::int64_t> shape;       ///< of the global tensor; up to kMaxRank axes
  std::vector<std::vector<Split>> axes;  ///< a tensor axis each: {}: whole; a second split divides the first's parts
  Grid grid;
  bool by_boxes = false;   ///< `boxes` instead of `axes` and `grid`
  std::vector<Box> boxes;  ///< a rank's are its regions, in the order of this list
  std::vector<int> order;  ///< tensor axes as each rank's memory has them, outermost first; {}: C order
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// Throws what is wrong with a distribution; the message names the axis or rank, and the remedy.
/// Errors: ArgumentError, ShapeError, RangeError.
void validate(const Distribution& d);

/// How many ranks there must be: the highest that is named, and one.
int ranks_of(const Distribution& d);

/// What a rank has: a region with splits over a grid (none where the rank is not in the grid), one a box with boxes.
int regions_of(const Distribution& d, int rank);

/// The shape of one region of a rank: how many indices of each tensor axis it has.
std::vector<std::int64_t> local_shape(const Distribution& d, int rank, int region = 0);

/// The global index on `axis` of the local index `i` of a region. Errors: ArgumentError when it has none such.
std::int64_t global_index(const Distribution& d, int rank, int region, int axis, std::int64_t i);

/// Where a rank's elements lie unless somebody says otherwise: dense, in the distribution's memory order, its regions
/// one behind the other.
std::vector<Layout> local_layouts(const Distribution& d, int rank, Element element);

/// Prints a distribution in the notation above; `parse_distribution` reads it back to an equal one.
std::string to_string(const Distribution& d);
/// Errors: ParseError with the column; and as `validate`.
Distribution parse_distribution(std::string_view text);

/// All that one rank sends to one other, or keeps: from the two distributions alone.
struct Pair {
  int from = 0;
  int to = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;      ///< on the wire: of the smaller of the two elements
  std::int64_t pieces = 0;     ///< strided copies it takes
  std::int64_t read_run = 0;   ///< bytes of the shortest contiguous run in the sender's dense memory
  std::int64_t write_run = 0;  ///< and in the receiver's
  friend bool operator==(const Pair&, const Pair&) = default;
};

/// The figures of a whole exchange, over all ranks.
struct Summary {
  std::int64_t minimum_bytes = 0;  ///< of elements whose target rank does not have them in the source
  std::int64_t moved_bytes = 0;    ///< between ranks; always the minimum
  std::int64_t kept_bytes = 0;     ///< that stay on their rank
  std::int64_t messages = 0;       ///< pairs of unlike ranks with something to send
  std::int64_t most_messages = 0;  ///< that one rank sends or receives
  std::int64_t longest_message = 0, shortest_message = 0;          ///< bytes
  std::int64_t longest_read_run = 0, shortest_read_run = 0;        ///< bytes, in the senders' dense memory
  std::int64_t longest_write_run = 0, shortest_write_run = 0;      ///< and in the receivers'
  std::int64_t most_sent = 0, most_received = 0, most_staged = 0;  ///< bytes of one rank; staged: sent and received
  int senders = 0, receivers = 0;                                  ///< ranks that send, that receive
};

/// Everything that must move for a tensor in one distribution to lie in another. Pure: needs no ranks, no memory, no
/// MPI and no GPU, and says the same on every rank.
///
/// Who sends what lies on several ranks of the source: a target rank that has an element itself keeps it; else it
/// reads from its own replica of the source (ranks outside of the source's grid take turns), and with boxes from the
/// owners in turns.
/// Cost: making one, microseconds, and with boxes their number times its logarithm; a rank's pairs, the sum over the
/// axes of grid sizes, plus the pairs.
/// Example: `Exchange(parse_distribution("(64,64) as (block[0],*) over (4)"), DType::kF32,
///                    parse_distribution("(64,64) as (*,block[0]) over (4)"), DType::kF32).explain()`
class Exchange {
 public:
  /// Errors: as `validate`; ShapeError when the shapes differ or an index of the target lies on no rank of the source,
  /// the first of which is named; CastError.
  Exchange(const Distribution& src, Element src_element, const Distribution& dst, Element dst_element);

  const Distribution& src() const noexcept;
  const Distribution& dst() const noexcept;
  Element src_element() const noexcept;
  Element dst_element() const noexcept;
  Element wire_element() const noexcept;  ///< the smaller of the two: the sender or the receiver casts
  int ranks() const noexcept;             ///< how many there must be for both sides

  /// What a rank sends, by ascending receiver, itself included.
  std::vector<Pair> sends(int rank) const;
  /// What a rank receives, by ascending sender, itself included. The same pairs as the senders' say.
  std::vector<Pair> receives(int rank) const;
  /// Cost: that of every rank's pairs.
  Summary summary() const;

  /// The figures in words; `rank` >= 0 adds that rank's pairs, at most `most` of them.
  std::string explain(int rank = -1, int most = 16) const;
  /// One JSON object; `deserialize` makes the same exchange from it.
  /// Errors of `deserialize`: ParseError when the text is no exchange, has more than 16 MiB, or was made by another
  /// planner's rules; and as the constructor.
  std::string serialize() const;
  static Exchange deserialize(std::string_view json);

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace distributed
}  // namespace restride
