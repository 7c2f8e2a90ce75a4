// Replays all pieces of a copy as they are told (src/plan/trace.h) and checks that they are the copy.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include <restride/layout.hpp>

#include "src/plan/trace.h"

namespace restride::test {

/// Where each byte of dst (or, with a cast, the first byte of each element) comes from.
inline std::unordered_map<std::int64_t, std::int64_t> sources(const Layout& dst, const Layout& src) {
  const bool cast = !(dst.element == src.element);
  const auto place = [](const Layout& l, std::int64_t n) {
    std::int64_t at = l.offset_bytes;
    for (int m = l.rank(); m-- > 0;) {
      const Mode& mode = l.modes[static_cast<std::size_t>(m)];
      at += n % mode.extent * mode.stride_bytes;
      n /= mode.extent;
    }
    return at;
  };
  std::unordered_map<std::int64_t, std::int64_t> from;
  for (std::int64_t n = 0; n < dst.elements(); ++n)
    for (std::int64_t b = 0; b < (cast ? 1 : dst.element.size_bytes); ++b) from[place(dst, n) + b] = place(src, n) + b;
  return from;
}

/// Bytes of a set of accesses, each with how often.
inline std::unordered_map<std::int64_t, int> bytes_of(const plan::Trace& t, plan::Space space, bool store) {
  std::unordered_map<std::int64_t, int> count;
  for (const plan::Access& a : t.accesses)
    if (a.space == space && a.store == store)
      for (std::int64_t b = 0; b < a.bytes; ++b) ++count[a.at + b];
  return count;
}

/// `trace(n)` tells piece n. `stores_once`: no byte of dst is stored twice.
inline void expect_whole_copy(const Layout& dst, const Layout& src,
                              const std::function<plan::Trace(std::int64_t)>& trace) {
  std::unordered_map<std::int64_t, std::int64_t> left = sources(dst, src);
  const bool cast = !(dst.element == src.element);
  const auto [src_first, src_last] = byte_range(src);
  const std::int64_t pieces = trace(0).pieces;
  for (std::int64_t n = 0; n < pieces; ++n) {
    const plan::Trace t = trace(n);
    ASSERT_EQ(t.piece, n);
    ASSERT_EQ(t.pieces, pieces);
    const auto loaded = bytes_of(t, plan::Space::kSrc, false), stored = bytes_of(t, plan::Space::kDst, true);
    const auto put = bytes_of(t, plan::Space::kStage, true);
    for (const auto& [byte, count] : loaded)
      ASSERT_TRUE(byte >= src_first && byte < src_last) << "piece " << n << " loads byte " << byte;
    for (const auto& [byte, count] : stored) ASSERT_EQ(count, 1) << "piece " << n << " stores byte " << byte;
    std::int64_t moved = 0;
    for (const plan::UnitWay& u : t.units) {
      for (std::int64_t b = 0; b < t.src_unit; ++b)
        ASSERT_TRUE(loaded.count(u.src + b))
            << "piece " << n << " moves byte " << u.src + b << ", which it never loads";
      for (std::int64_t b = 0; b < t.dst_unit; ++b)
        ASSERT_TRUE(stored.count(u.dst + b)) << "piece " << n << " moves into byte " << u.dst + b << " without a store";
      if (u.stage >= 0) {
        ASSERT_TRUE(put.count(u.stage)) << "piece " << n << " takes byte " << u.stage << " of the stage";
      }
      moved += t.dst_unit;
      for (std::int64_t b = 0; b < (cast ? 1 : t.dst_unit); ++b) {
        const auto at = left.find(u.dst + b);
        ASSERT_NE(at, left.end()) << "piece " << n << " writes byte " << u.dst + b << " of dst again, or outside it";
        ASSERT_EQ(at->second, u.src + b) << "piece " << n << ", byte " << u.dst + b << " of dst";
        left.erase(at);
      }
    }
    ASSERT_EQ(moved, static_cast<std::int64_t>(stored.size())) << "piece " << n << " stores what no unit is";
    ASSERT_EQ(t.units_of_piece, static_cast<std::int64_t>(t.units.size()));
  }
  EXPECT_TRUE(left.empty()) << left.size() << " bytes of dst are in no piece";
}

}  // namespace restride::test
