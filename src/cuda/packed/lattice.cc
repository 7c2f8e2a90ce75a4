// Which lattices there are, and the one with the fewest steps.
#include "src/cuda/packed/lattice.h"

#include <algorithm>

#include "src/base/checked.h"

namespace restride::cuda::packed {

namespace {

constexpr std::int64_t kLineWords = 8;    ///< of 128 bytes
constexpr std::int64_t kMostGroups = 64;  ///< of a line's words; planning tries no more lattices

}  // namespace

std::int64_t steps_of(std::int64_t words, std::int64_t lines, std::int64_t across, std::int64_t threads) {
  return ceil_div(words, across) * ceil_div(lines, threads / across);
}

PackedLattice lattice(std::int64_t words, std::int64_t lines, std::int64_t across, std::int64_t threads) {
  PackedLattice l;
  l.across = base::FastDiv(across);
  l.lines = static_cast<std::int32_t>(threads / across);
  l.passes = base::FastDiv(ceil_div(lines, l.lines));
  l.steps = static_cast<std::int32_t>(steps_of(words, lines, across, threads));
  return l;
}

Across::Across(std::int64_t line_words, std::int64_t threads)
    : words_(line_words),
      threads_(threads),
      most_groups_(std::clamp<std::int64_t>(ceil_div(line_words, kLineWords), 1, kMostGroups)) {
  step();
}

std::int64_t Across::next() {
  const std::int64_t across = across_;
  step();
  return across;
}

std::int64_t Across::best(std::int64_t lines, std::int64_t narrowest, double next_words) {
  std::int64_t best = 0;
  double best_steps = 0;
  for (; across_ >= narrowest && across_ != 0; step()) {
    const double steps = static_cast<double>(steps_of(words_, lines, across_, threads_)) +
                         next_words * static_cast<double>(ceil_div(words_, across_));
    if (best != 0 && steps >= best_steps) continue;
    best = across_;
    best_steps = steps;
  }
  return best;
}

void Across::step() {
  for (; groups_ <= most_groups_; ++groups_) {
    across_ = groups_ == 1 ? words_ : ceil_div(ceil_div(words_, groups_), kLineWords) * kLineWords;
    if (across_ > threads_ || (groups_ > 1 && ceil_div(words_, across_) != groups_)) continue;
    if (groups_ > 1 && across_ >= words_) break;
    ++groups_;
    return;
  }
  across_ = 0;
  groups_ = most_groups_ + 1;
}

PackedLattice load_lattice(std::int64_t words, std::int64_t pieces, std::int64_t threads) {
  const std::int64_t across = Across(words, threads).best(pieces, 1);
  return across != 0 ? lattice(words, pieces, across, threads) : PackedLattice{};
}

}  // namespace restride::cuda::packed
