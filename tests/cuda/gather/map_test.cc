// Replays src/cuda/gather/map.h for every unit, by numbers of both widths.
#include "src/cuda/gather/map.h"

#include "tests/cuda/replay.h"

namespace restride {
namespace {

using cuda_test::Copy;
using cuda_test::Written;

void replay(std::string_view kernel, const Copy& copy) {
  const auto a = cuda_test::args_of<cuda::GatherArgs>(kernel, copy.c);
  Written narrow(copy), wide(copy);
  for (std::int64_t unit = 0; unit < a.units; ++unit) {
    const cuda::Offsets at = cuda::gather_offsets<std::uint32_t>(a, static_cast<std::uint32_t>(unit));
    narrow.unit(at.dst, at.src, copy.c.dst_unit);
    const cuda::Offsets at64 = cuda::gather_offsets<std::uint64_t>(a, static_cast<std::uint64_t>(unit));
    wide.unit(at64.dst, at64.src, copy.c.dst_unit);
  }
  narrow.expect_complete();
  wide.expect_complete();
}

TEST(GatherMap, MovesAnyLayoutOnce) {
  replay("gather/units", Copy("f32 (3,4,5,6):(-120,5,1,20)@240", "f32 (3,4,5,6):(2,-30,6,120)@90"));
}

TEST(GatherMap, ConvertsAnyLayoutOnce) {
  replay("gather/cast", Copy("f16 (3,4,5,6):(-120,5,1,20)@240", "bf16 (3,4,5,6):(2,-30,6,120)@90"));
}

}  // namespace
}  // namespace restride
