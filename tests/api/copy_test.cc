#include <restride/copy.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/support/throws.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

// Counts what this program allocates. Not inlined: GCC would see `new` end in `free` and warn.
// NOLINTBEGIN: the replaceable functions have these names.
[[gnu::noinline]] void* operator new(std::size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n != 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(n != 0 ? n : 1);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
// NOLINTEND

namespace restride {
namespace {

using test::holds;
using test::message_of;

Layout of(std::string_view text) { return parse_layout(text); }

/// A pool that starts a thread a task.
struct Pool {
  std::atomic<int> tasks{0};
  Executor executor{[](void* context, int count, void (*body)(void*, int), void* arg) {
                      static_cast<Pool*>(context)->tasks += count;
                      std::vector<std::thread> threads;
                      for (int i = 0; i < count; ++i) threads.emplace_back(body, arg, i);
                      for (std::thread& t : threads) t.join();
                    },
                    this, 4};
};

TEST(Copy, PairsElementsInCOrder) {
  std::vector<float> from(6);
  std::iota(from.begin(), from.end(), 0.0f);
  std::vector<float> to(6, -1);
  copy({to.data(), of("f32 (3,2)")}, {from.data(), of("f32 (3,2):(1,3)")});
  EXPECT_EQ(to, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  Options options;
  options.reshape = true;
  copy({to.data(), of("f32 (2,3)")}, {from.data(), of("f32 (6):(-1)@5")}, options);
  EXPECT_EQ(to, (std::vector<float>{5, 4, 3, 2, 1, 0}));
}

TEST(Copy, RefusesAForgottenPermuteUnlessAReshapeIsMeant) {
  const std::vector<float> image{0, 1, 2, 3, 4, 5};
  std::vector<float> planes(6, -1);
  const Layout chw = of("f32 (3,2,1)"), hwc = of("f32 (2,1,3)");
  Options reshape;
  reshape.reshape = true;
  copy({planes.data(), chw}, {image.data(), hwc}, reshape);  // and its plan is in the cache
  EXPECT_EQ(planes, image);
  planes.assign(6, -1);
  EXPECT_TRUE(holds(message_of<ShapeError>([&] {
                      copy({planes.data(), chw}, {image.data(), hwc});
                    }),
                    "(3,2,1) and (2,1,3)", "axes (2,0,1)", "reshape"));
  EXPECT_EQ(planes, (std::vector<float>(6, -1)));
  EXPECT_THROW(Plan(chw, hwc), ShapeError);
  copy({planes.data(), chw}, {image.data(), permute(hwc, {2, 0, 1})});
  EXPECT_EQ(planes, (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Copy, TakesARearrangementAndItsResult) {
  std::vector<std::uint8_t> in(24);
  std::iota(in.begin(), in.end(), std::uint8_t{0});
  std::vector<float> out(24, -1);
  const std::pair<std::string, std::int64_t> sizes[] = {{"s", 2}};
  const Rearrangement r = rearrange(of("u8 (4,6)"), "(h s) w -> h (w s)", sizes);
  copy({out.data(), r.result(DType::kF32)}, {in.data(), r.source});
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t w = 0; w < 6; ++w)
      for (std::size_t s = 0; s < 2; ++s)
        EXPECT_EQ(out[h * 12 + w * 2 + s], static_cast<float>(in[(h * 2 + s) * 6 + w]));
}

TEST(Copy, RefusesBeforeAByteIsWritten) {
  std::vector<float> from(64, 1.0f);
  std::vector<float> to(64, -1.0f);
  const std::vector<float> before = to;
  const auto run = [&](const char* dst, const char* src) { copy({to.data(), of(dst)}, {from.data(), of(src)}); };
  EXPECT_THROW(run("f32 (4)", "f32 (5)"), ShapeError);
  EXPECT_THROW(run("f32 (4,4):(2,1)", "f32 (4,4)"), OverlapError);
  EXPECT_THROW(run("f32 (4,4)", "f32 (16)"), ShapeError);
  EXPECT_THROW(run("f32 (4)", "c64 (4)"), CastError);
  EXPECT_THROW(run("b4 (4)", "f32 (4)"), CastError);
  EXPECT_THROW(copy({to.data(), Layout{DType::kU8, {{2, INT64_MAX}, {2, 1}}, 0}}, {from.data(), of("u8 (2,2)")}),
               RangeError);
  EXPECT_THROW(copy({to.data(), Layout{DType::kU8, {{-2, 1}}, 0}}, {from.data(), of("u8 (4)")}), ArgumentError);
  Options options;
  options.threads = -1;
  EXPECT_THROW(copy({to.data(), of("f32 (4)")}, {from.data(), of("f32 (4)")}, options), ArgumentError);
  options.threads = 0;
  options.family = "magic";
  EXPECT_THROW(copy({to.data(), of("f32 (4)")}, {from.data(), of("f32 (4)")}, options), ArgumentError);
  EXPECT_EQ(to, before);
}

TEST(Copy, RefusesNegativeThreadsWhateverWasCopiedBefore) {
  float from[6] = {}, to[6] = {};
  const Layout layout = of("f32 (2,3)");
  Options bad;
  bad.threads = -1;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(copy({to, layout}, {from, layout}, bad), ArgumentError);
    copy({to, layout}, {from, layout});
  }
}

TEST(Copy, RefusesSourceAndDestinationThatShareAByte) {
  std::vector<float> data(64);
  std::iota(data.begin(), data.end(), 0.0f);
  const std::vector<float> before = data;
  EXPECT_TRUE(holds(message_of<OverlapError>([&] {
                      copy({data.data(), of("f32 (8,8)")}, {data.data(), of("f32 (8,8):(1,8)")});
                    }),
                    "dst f32 (8,8):(8,1) overlaps src f32 (8,8):(1,8)", "through a temporary"));
  EXPECT_EQ(data, before);
  copy({data.data(), of("f32 (32):(2)")}, {data.data(), of("f32 (32):(2)@1")});
  EXPECT_EQ(data[0], 1.0f);
  EXPECT_EQ(data[1], 1.0f);
}

TEST(Copy, OfAViewOntoItselfDoesNothing) {
  std::vector<float> data(64, 3.0f);
  EXPECT_NO_THROW(copy({data.data(), of("f32 (8,8)")}, {data.data(), of("f32 (1,8,8)")}));
  EXPECT_NO_THROW(copy({data.data(), of("f32 (8,8):(1,8)")}, {data.data(), of("f32 (8,8):(1,8)")}));
  EXPECT_NO_THROW(copy({data.data(), of("f32 (8):(1)@3")}, {data.data() + 3, of("f32 (8)")}));
  EXPECT_THROW(copy({data.data(), of("f32 (8):(1)@3")}, {data.data(), of("f32 (8)")}), OverlapError);
  EXPECT_THROW(copy({data.data(), of("u32 (64)")}, {data.data(), of("f32 (64)")}), OverlapError)
      << "a conversion in place";
  EXPECT_NO_THROW(copy({data.data(), of("u32 (64)")}, {data.data(), of("i32 (64)")})) << "the same bits";
}

TEST(Copy, OfNothingAsksNothingOfPointers) {
  float host = 1;
  Options options;
  for (const DeviceKind device : {DeviceKind::kAuto, DeviceKind::kCpu, DeviceKind::kCuda}) {
    options.device = device;  // host memory is refused when a GPU is asked for, and there may be none
    EXPECT_NO_THROW(copy({&host + 1, of("f32 (0,4)")}, {&host, of("f32 (0,4):(1,7)")}, options));
    EXPECT_NO_THROW(copy({&host, of("f16 (3,0)")}, {nullptr, of("f32 (3,0)")}, options));
    EXPECT_THROW(copy({&host, of("f32 (0)")}, {&host, of("f32 (1)")}, options), ShapeError);
    EXPECT_THROW(copy({&host, of("f32 (1)")}, {&host, of("f32 (0)")}, options), ShapeError);
    EXPECT_THROW(copy({&host, of("f32 (0)")}, {&host, of("c64 (0)")}, options), CastError);
  }
  EXPECT_EQ(host, 1);
}

TEST(Copy, OfAMovingSliceGoesWhereItIs) {
  std::vector<float> cache(4 * 100, -1), expected(cache), tokens(4 * 8);
  std::iota(tokens.begin(), tokens.end(), 0.0f);
  const Layout token = contiguous(DType::kF32, {4, 8});
  for (const std::int64_t at : {0, 8, 31, 92, 3}) {
    Layout slice = of("f32 (4,8):(100,1)");
    slice.offset_bytes = at * 4;
    copy({cache.data(), slice}, {tokens.data(), token});
    // The same elements again: behind a pointer that lies outside, and from a source at an offset.
    Layout far = slice, back = slice;
    far.offset_bytes += std::int64_t{1} << 40;
    void* const before =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(cache.data()) - (std::uintptr_t{1} << 40));
    copy({before, far}, {cache.data(), back});  // the identical view
    std::vector<float> out(32);
    copy({out.data(), token}, {cache.data(), slice});
    EXPECT_EQ(out, tokens) << at;
    for (std::int64_t r = 0; r < 4; ++r)
      for (std::int64_t c = 0; c < 8; ++c)
        expected[static_cast<std::size_t>(r * 100 + at + c)] = tokens[static_cast<std::size_t>(r * 8 + c)];
    EXPECT_EQ(cache, expected) << at;
    EXPECT_THROW(copy({cache.data(), slice}, {cache.data() + at + 1, of("f32 (4,8):(100,1)")}), OverlapError);
  }
}

TEST(Copy, RefusesNullThatHoldsElementsAndTakesNullThatHoldsNone) {
  float one = 1;
  EXPECT_TRUE(holds(message_of<ArgumentError>([&] {
                      copy({nullptr, of("f32 ()")}, {&one, of("f32 ()")});
                    }),
                    "dst.data is null"));
  EXPECT_TRUE(holds(message_of<ArgumentError>([&] {
                      copy({&one, of("f32 ()")}, {nullptr, of("f32 ()")});
                    }),
                    "src.data is null"));
  EXPECT_NO_THROW(copy({nullptr, of("f32 (3,0)")}, {nullptr, of("f32 (3,0):(7,7)")}));
}

TEST(Copy, RunsOnTheCallersPool) {
  constexpr std::int64_t kSide = 1500;
  std::vector<std::int32_t> from(kSide * kSide);
  std::iota(from.begin(), from.end(), 0);
  std::vector<std::int32_t> to(from.size());
  Pool pool;
  Options options;
  options.executor = &pool.executor;
  copy({to.data(), contiguous(DType::kI32, {kSide, kSide})},
       {from.data(), permute(contiguous(DType::kI32, {kSide, kSide}), {1, 0})}, options);
  EXPECT_GE(pool.tasks, 2);
  for (std::int64_t i = 0; i < kSide; i += 7)
    for (std::int64_t j = 0; j < kSide; j += 11)
      ASSERT_EQ(to[static_cast<std::size_t>(i * kSide + j)], static_cast<std::int32_t>(j * kSide + i));
}

TEST(Copy, AllocatesNothingAfterTheFirstOfItsKind) {
  std::vector<float> from(64 * 48, 1.0f);
  std::vector<float> to(64 * 48);
  const Layout dst = of("f32 (64,48)");
  const Layout src = of("f32 (64,48):(1,64)");
  copy({to.data(), dst}, {from.data(), src});
  const long before = allocations.load();
  for (int i = 0; i < 100; ++i) copy({to.data(), dst}, {from.data(), src});
  EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace restride
