// Intersecting combs.
#include "src/distributed/comb.h"

#include <numeric>
#include <tuple>
#include <utility>

namespace restride::distributed {
namespace {

using Wide = __int128;

/// `count` blocks of `length` from `first` on, `step` apart, which both sides have.
void add(const Comb& src, const Comb& dst, std::int64_t first, std::int64_t length, std::int64_t step,
         std::int64_t count, AxisPieces& out) {
  AxisPiece p{first, length, 0, count, src.local(first), 0, dst.local(first), 0};
  if (count > 1) {
    p.step = step;
    p.src_step = src.local(first + step) - p.src_first;
    p.dst_step = dst.local(first + step) - p.dst_first;
    if (p.src_step == length && p.dst_step == length && step == length) {  // one block after all
      p.length *= count;
      p.count = 1;
      p.step = p.src_step = p.dst_step = 0;
    }
  }
  out.push_back(p);
}

/// A block [lo, hi) that one side has as a whole, and the comb of the other side.
void intersect_block(std::int64_t lo, std::int64_t hi, const Comb& comb, const Comb& src, const Comb& dst,
                     AxisPieces& out) {
  hi = std::min(hi, comb.end);
  std::int64_t at = comb.next(lo);
  if (at >= hi) return;
  const std::int64_t in = (at - comb.start) % comb.step;
  if (in != 0 || hi - at < comb.length) {  // a block that is cut
    const std::int64_t length = std::min(comb.length - in, hi - at);
    add(src, dst, at, length, 0, 1, out);
    at += comb.step - in;
    if (at >= hi) return;
  }
  const std::int64_t whole = (hi - at) / comb.step + ((hi - at) % comb.step >= comb.length ? 1 : 0);
  if (whole > 0) {
    add(src, dst, at, comb.length, comb.step, whole, out);
    at += whole * comb.step;
  }
  if (at < hi) add(src, dst, at, hi - at, 0, 1, out);
}

/// x with a*x == 1 modulo m, for coprime a and m.
std::int64_t inverse(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = a % m, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1;
    std::tie(r0, r1) = std::pair(r1, r0 - q * r1);
    std::tie(t0, t1) = std::pair(t1, t0 - q * t1);
  }
  return t0 < 0 ? t0 + m : t0;
}

std::int64_t modulo(Wide a, std::int64_t m) {
  const auto r = static_cast<std::int64_t>(a % m);
  return r < 0 ? r + m : r;
}

/// Two cyclic combs. A block of src at x and one of dst at x + d have indices in common when -dst.length < d <
/// src.length; both exist when d fits modulo the greatest common divisor of the steps, and then again and again with
/// the least common multiple of them (the Chinese remainder theorem).
void intersect_cyclic(const Comb& src, const Comb& dst, AxisPieces& out) {
  const std::int64_t gcd = std::gcd(src.step, dst.step);
  const Wide period = Wide{src.step / gcd} * dst.step;
  const std::int64_t end = std::min(src.end, dst.end);
  const std::int64_t repeat = dst.step / gcd;  // src blocks after which dst's places repeat
  const std::int64_t back = repeat == 1 ? 0 : inverse(src.step / gcd % repeat, repeat);
  for (std::int64_t d = -dst.length + 1 + modulo(Wide{dst.start} - src.start + dst.length - 1, gcd); d < src.length;
       d += gcd) {
    // The first k of src's blocks whose x + d is the start of a block of dst ...
    const Wide apart = (Wide{dst.start} - d - src.start) / gcd;
    Wide x = src.start + Wide{src.step} * modulo(Wide{modulo(apart, repeat)} * back, repeat);
    // ... and is not before dst's first.
    if (x + d < dst.start) x += (dst.start - (x + d) + period - 1) / period * period;
    const Wide from = std::max(x, x + d);
    if (from >= end) continue;
    const auto first = static_cast<std::int64_t>(from);
    const auto length = static_cast<std::int64_t>(std::min(x + src.length, x + d + dst.length) - from);
    const std::int64_t room = end - first;
    std::int64_t whole = room >= length ? static_cast<std::int64_t>((room - length) / period) + 1 : 0;
    if (whole > 0) add(src, dst, first, length, static_cast<std::int64_t>(std::min<Wide>(period, end)), whole, out);
    const Wide cut = from + whole * period;
    if (cut < end) add(src, dst, static_cast<std::int64_t>(cut), static_cast<std::int64_t>(end - cut), 0, 1, out);
  }
}

std::int64_t blocks(const Comb& c) { return ceil_div(c.end - c.start, c.step); }

}  // namespace

void intersect(const Comb& src, const Comb& dst, AxisPieces& out) {
  if (src.empty() || dst.empty()) return;
  if (src.single()) return intersect_block(src.start, src.end, dst, src, dst, out);
  if (dst.single()) return intersect_block(dst.start, dst.end, src, src, dst, out);
  // Few blocks on a side: one after the other makes fewer pieces than the distances between blocks.
  const std::int64_t distances = (src.length + dst.length) / std::gcd(src.step, dst.step) + 1;
  const bool src_fewer = blocks(src) <= blocks(dst);
  const Comb& few = src_fewer ? src : dst;
  if (3 * blocks(few) < distances) {
    for (std::int64_t at = few.start; at < few.end; at += few.step)
      intersect_block(at, std::min(at + few.length, few.end), src_fewer ? dst : src, src, dst, out);
    return;
  }
  intersect_cyclic(src, dst, out);
}

void clip(const AxisPiece& piece, std::int64_t lo, std::int64_t hi, AxisPieces& out) {
  const auto part = [&](std::int64_t block, std::int64_t from, std::int64_t length, std::int64_t count) {
    AxisPiece p = piece;
    p.first += block * piece.step + from;
    p.src_first += block * piece.src_step + from;
    p.dst_first += block * piece.dst_step + from - lo;
    p.length = length;
    p.count = count;
    if (count == 1) p.step = p.src_step = p.dst_step = 0;
    out.push_back(p);
  };
  std::int64_t block = 0;
  const auto start = [&] { return piece.dst_first + block * piece.dst_step; };
  // Blocks that end before lo; then the one that lo cuts; then whole ones; then the one that hi cuts.
  if (piece.count > 1 && lo > piece.dst_first) block = std::min((lo - piece.dst_first) / piece.dst_step, piece.count);
  if (block < piece.count && start() + piece.length <= lo) ++block;
  if (block < piece.count && start() < lo) {
    const std::int64_t from = lo - start();
    if (const std::int64_t end = std::min(hi - start(), piece.length); end > from) part(block, from, end - from, 1);
    ++block;
  }
  if (block >= piece.count || start() >= hi) return;
  std::int64_t whole = start() + piece.length <= hi ? 1 : 0;
  if (whole == 1 && piece.count > 1)
    whole = std::min((hi - start() - piece.length) / piece.dst_step + 1, piece.count - block);
  if (whole > 0) part(block, 0, piece.length, whole);
  block += whole;
  if (block < piece.count && start() < hi) part(block, 0, hi - start(), 1);
}

}  // namespace restride::distributed
