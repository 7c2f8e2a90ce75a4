// What packed/direct and packed/batches do, told by their maps.
#include <algorithm>

#include "src/cuda/trace.h"

namespace restride::cuda {
namespace {

template <int kRank>
void trace_direct_rank(const DirectArgs& a, plan::Trace& t) {
  const int unit = t.dst_unit, units = kWord / unit;
  for (std::int32_t thread = 0; thread < kDirectThreads; ++thread) {
    const std::int64_t first = (t.piece * kDirectThreads + thread) * units - (a.dst_offset & 15) / unit;
    const auto begin = std::max<std::int64_t>(first, 0), end = std::min<std::int64_t>(first + units, a.units);
    if (begin >= end) continue;
    const bool whole = end - begin == units;
    const std::int64_t to = a.dst_offset + begin * unit;
    if (whole) t.store(0, thread, to, kWord);
    DirectUnit<kRank> at = direct_unit<kRank>(a, static_cast<std::uint32_t>(begin));
    for (std::int64_t n = begin; n < end; ++n, direct_next<kRank>(a, at)) {
      const std::int64_t dst = a.dst_offset + n * unit, src = a.src_offset + at.src;
      t.load(static_cast<std::int32_t>(n - first), thread, src, unit);
      if (!whole) t.store(static_cast<std::int32_t>(n - first), thread, dst, unit);
      t.unit(thread, dst, src);
    }
  }
}

}  // namespace

void trace_kernel(const DirectArgs& a, const CudaArgs&, plan::Trace& t) {
  t.piece_is = "block";
  set_pieces(t, a.blocks, a.blocks, kDirectThreads);
  a.rank == 2 ? trace_direct_rank<2>(a, t) : a.rank == 3 ? trace_direct_rank<3>(a, t) : trace_direct_rank<4>(a, t);
}

void trace_kernel(const BatchArgs& a, const CudaArgs&, plan::Trace& t) {
  set_pieces(t, a.tiles, a.tiles, a.threads);
  t.stage_is =
      "The tile lies in shared memory as it lies in src. A lane collects the units of a word of dst one after the "
      "other, "
      "which lie as far apart as the matrix has them, and nothing is padded: lanes meet where that distance brings "
      "different words into one bank. ";
  const BatchPlace place = batch_place(a, static_cast<std::uint32_t>(t.piece));
  const auto low = static_cast<std::uint32_t>(place.at.src & 15);
  const std::int32_t bytes = batch_piece_bytes(a, place.matrices),
                     words = static_cast<std::int32_t>(a.piece_words.divisor);
  for (std::int32_t item = 0; item < batch_pieces(a, place.matrices) * words; ++item) {
    const std::int64_t start = place.at.src + item / words * a.src_pitch, off = item % words * kWord - (start & 15);
    if (off >= bytes) continue;
    load_word_staged(t, item / a.threads, item % a.threads, start + off, kWord, a.src_first, a.src_last,
                     item / words * a.piece_pitch + item % words * kWord);
  }
  const std::int32_t unit = t.dst_unit, units = a.word_bytes / unit;
  const auto collect = [&](std::int32_t step, std::int32_t thread, std::int32_t byte) {
    const BatchUnit place_of = batch_unit(a, byte / unit);
    const std::int64_t at = batch_line(a, static_cast<std::uint32_t>(place_of.line), low) + place_of.at * a.unit_step;
    t.take(step, thread, at, unit);
    t.unit_staged(thread, place.at.dst + byte, at);
  };
  const BatchRun run = batch_run(a, place.matrices, static_cast<std::uint32_t>(place.at.dst));
  const std::int32_t lanes = a.kept_words != 0 ? a.kept_words : a.threads;  // that collect words
  for (std::int32_t word = 0; word < run.words; ++word) {
    const std::int32_t step = word / lanes, thread = word % lanes, byte = run.head + word * a.word_bytes;
    for (std::int32_t u = 0; u < units; ++u) collect(step * units + u, thread, byte + u * unit);
    t.store(step, thread, place.at.dst + byte, a.word_bytes);
  }
  const std::int32_t behind = (run.words + lanes - 1) / lanes;  // steps
  for (std::int32_t n = 0; n < (run.head + run.tail) / unit; ++n) {
    const std::int32_t byte = n * unit < run.head ? n * unit : n * unit + run.words * a.word_bytes;
    collect(behind * units, n, byte);
    t.store(behind, n, place.at.dst + byte, unit);
  }
}

}  // namespace restride::cuda
