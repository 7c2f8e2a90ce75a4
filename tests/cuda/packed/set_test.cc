// Which modes a tile of packed takes: targets that are skipped would have taken the same.
#include "src/cuda/packed/staged.h"

#include <algorithm>

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda::packed::Set;

bool same(const Set& a, const Set& b) {
  return a.chunk == b.chunk && a.dst == b.dst && a.src == b.src && a.d_cut == b.d_cut && a.s_cut == b.s_cut &&
         a.run_units == b.run_units && a.piece_units == b.piece_units && a.tile_units == b.tile_units &&
         a.piece_bytes == b.piece_bytes;
}

TEST(CudaPackedSet, TakesTheSameUpToTheTargetItReturns) {
  for (const char* src : {"u8 (7,5,11,3):(1,231,7,77)", "u8 (7,5,11,3):(165,33,3,1)", "u8 (7,5,11,3):(240,44,4,1)"}) {
    SCOPED_TRACE(src);
    const cuda_test::Copy copy("u8 (7,5,11,3):(165,33,3,1)", src, 128);
    cuda::packed::Order dst_order;
    for (std::size_t m = 0; m < copy.c.modes.size(); ++m) dst_order.push_back(static_cast<std::uint8_t>(m));
    const cuda::packed::Order src_order = cuda::packed::by_src_stride(copy.c);
    for (std::int64_t run = 4; run <= 256; run *= 2) {
      Set runs;
      const std::int64_t same_runs = cuda::packed::take_runs(copy.c, dst_order, run, runs);
      for (std::int64_t target = run; target <= std::min<std::int64_t>(same_runs, 2000); ++target) {
        Set again;
        cuda::packed::take_runs(copy.c, dst_order, target, again);
        EXPECT_TRUE(same(again, runs)) << target;
      }
      Set reused = runs;
      std::int64_t same_pieces = 0;
      Set last;
      for (std::int64_t piece = 1; piece <= 2000; ++piece) {
        const std::int64_t until = cuda::packed::take_pieces(copy.c, src_order, piece, reused);
        Set fresh = runs;
        cuda::packed::take_pieces(copy.c, src_order, piece, fresh);
        ASSERT_TRUE(same(reused, fresh)) << "pieces taken before leave nothing behind";
        if (piece <= same_pieces) {
          ASSERT_TRUE(same(reused, last)) << piece;
        }
        same_pieces = until;
        last = reused;
      }
    }
  }
}

}  // namespace
}  // namespace restride
