// A sequence of views, each on what the one before it left, made into one copy.
//
// A mode of the sequence is a group of modes of the source, outermost first: after (2,3,4) is reshaped to (6,4) the
// first mode is the group of 2 and 3, whatever their strides. So modes that no stride describes can still be permuted,
// flipped and mostly sliced. Where a reshape cuts across the source's modes, the views behind it are kept over
// positions in C order, and the destination is seen backwards through them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <restride/layout.hpp>

namespace restride::tools {

class ViewSequence {
 public:
  using Group = std::vector<Mode>;  ///< outermost first; nothing in it: extent 1

  explicit ViewSequence(const Layout& input);

  /// Each as the function of that name, on the shape so far. Errors: the same; ShapeError where one strided copy cannot
  /// do it, which a copy of what the sequence has so far can begin.
  void slice(const std::vector<std::string>& entries);
  void flip(const std::vector<std::int64_t>& modes);
  void broadcast(Extents extents);
  void permute(Extents axes);
  void rearrange(std::string_view pattern, std::span<const std::pair<std::string, std::int64_t>> sizes);
  void reshape(Extents extents);
  /// Turns the first two modes by `quarters` of a circle from the first towards the second, as numpy.rot90.
  void rot90(std::int64_t quarters);

  /// The shape so far, dense in C order.
  Layout contiguous() const;

  struct Pair {
    Layout dst, src;       ///< of equal extents
    bool reshape = false;  ///< but not here: elements pair in C order, in one call for all of them
  };
  /// The copy that fills `result`, which has the shape of the last view. Errors: ShapeError: no strides describe it.
  Pair into(const Layout& result) const;

 private:
  std::int64_t extent(std::size_t mode) const;
  void empty_if_nothing_is_left();
  void reshape_to(const std::vector<std::int64_t>& extents);
  Pair backwards(Pair views) const;

  Element element_;
  std::int64_t offset_ = 0;
  std::vector<Group> groups_;
  std::optional<Layout> before_;  ///< the source; strides and offset above are then elements in its C order
};

}  // namespace restride::tools
