// One plan over many pairs of memory on a GPU: every pair once, in as few launches as kernels' parameters allow, and
// nothing where a pointer is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <restride/error.hpp>

#include "tests/gpu/transposed_matrix.h"

namespace restride::test {
namespace {

/// Pairs in one allocation a side, in an order that is not that of memory, with bytes between them that stay.
class Pairs {
 public:
  Pairs(const std::string& dst_layout, const std::string& src_layout, std::size_t count)
      : dst_(parse_layout(dst_layout)),
        src_(parse_layout(src_layout)),
        count_(count),
        dst_pitch_(pitch_of(dst_)),
        src_pitch_(pitch_of(src_)),
        in_(count * src_pitch_),
        out_(count * dst_pitch_, 0xee),
        to_(out_.size()),
        from_(in_.size()) {
    Rng rng(count);
    for (std::uint8_t& byte : in_) byte = static_cast<std::uint8_t>(rng());
    for (std::size_t i = 0; i < count; ++i) {
      dst.push_back(to_.data() + i * 7919 % count * dst_pitch_);
      src.push_back(from_.data() + i * 104729 % count * src_pitch_);
    }
    upload(from_.data(), in_, stream_);
    reset();
  }
  void reset() { upload(to_.data(), out_, stream_); }
  /// How many bytes are not what they should be.
  std::int64_t wrong() {
    std::vector<std::uint8_t> want = out_, got(out_.size());
    for (std::size_t i = 0; i < count_; ++i)
      naive_copy(dst_, want.data() + (static_cast<std::byte*>(dst[i]) - to_.data()), src_,
                 in_.data() + (static_cast<const std::byte*>(src[i]) - from_.data()));
    download(got, to_.data(), stream_);
    std::int64_t n = 0;
    for (std::size_t i = 0; i < got.size(); ++i) n += got[i] != want[i] ? 1 : 0;
    return n;
  }
  Plan plan(const char* kernel = "") const {
    Options options = on(stream_);
    options.device = DeviceKind::kCuda;
    options.family = kernel;
    return {dst_, src_, options};
  }
  cudaStream_t stream() const { return stream_; }

  std::vector<void*> dst;
  std::vector<const void*> src;

 private:
  static std::size_t pitch_of(const Layout& l) {
    return (static_cast<std::size_t>(byte_range(l).second) + 383) / 128 * 128;
  }

  Layout dst_, src_;
  std::size_t count_, dst_pitch_, src_pitch_;
  std::vector<std::uint8_t> in_, out_;
  DeviceBuffer to_, from_;
  Stream stream_;
};

/// What run_many puts into a graph.
std::size_t launches_of(const Plan& plan, Pairs& pairs, cudaGraphExec_t* exec = nullptr) {
  RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(pairs.stream(), cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(plan.run_many(pairs.dst, pairs.src), 0);
  cudaGraph_t graph = nullptr;
  RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(pairs.stream(), &graph));
  std::size_t nodes = 0;
  RESTRIDE_CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  if (exec != nullptr) RESTRIDE_CHECK_CUDA(cudaGraphInstantiate(exec, graph, 0));
  RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
  return nodes;
}

struct Case {
  const char *kernel, *dst, *src;
};

/// Of some KiB. Those of the second list have one pair a launch.
const Case kTogether[] = {
    {"run/words", "f32 (1024)", "f32 (1024)"},
    {"rows/words", "f32 (32,33)", "f32 (32,33):(41,1)"},
    {"rows/words", "u8 (40,30):(31,1)", "u8 (40,30):(70,2)"},
    {"rows/words", "u16 (40,30)", "u16 (40,30):(30,-1)@29"},
    {"rows/words", "f64 (4,300)", "f64 (4,300):(1,0)"},
    {"rows/words", "f32 (4,5000)", "f32 (4,5000):(5008,1)"},
};
const Case kOneByOne[] = {{"run/cast", "f16 (1024)", "f32 (1024)"},
                          {"tile/unaligned", "f32 (32,32)", "f32 (32,32):(1,32)"}};

TEST(GpuRunMany, CopiesEveryPairOnce) {
  for (const auto& cases : {std::vector<Case>(std::begin(kTogether), std::end(kTogether)),
                            std::vector<Case>(std::begin(kOneByOne), std::end(kOneByOne))})
    for (const Case& c : cases)
      for (const std::size_t count : {1, 2, 128, 129, 2200}) {
        Pairs pairs(c.dst, c.src, count);
        const Plan plan = pairs.plan(c.kernel);
        EXPECT_EQ(plan.run_many(pairs.dst, pairs.src), 0);
        EXPECT_EQ(pairs.wrong(), 0) << count << " of " << c.dst << " <- " << c.src;
      }
}

TEST(GpuRunMany, CopiesPairsOfAPlanWithWideBlocks) {
  Pairs pairs("c128 (20001,15)", "c128 (20001,15):(17,1)", 3);  // 4.8 MB: a block of 512 threads where that pays
  EXPECT_EQ(pairs.plan("rows/words").run_many(pairs.dst, pairs.src), 0);
  EXPECT_EQ(pairs.wrong(), 0);
}

TEST(GpuRunMany, TakesAsFewLaunchesAsParametersAllow) {
  int driver = 0;
  RESTRIDE_CHECK_CUDA(cudaDriverGetVersion(&driver));
  for (const Case& c : kTogether) {
    SCOPED_TRACE(c.dst);
    for (const std::size_t count : {1, 128, 1000}) {
      Pairs pairs(c.dst, c.src, count);
      if (driver >= 12010)
        EXPECT_EQ(launches_of(pairs.plan(c.kernel), pairs), 1u);
      else
        EXPECT_LE(launches_of(pairs.plan(c.kernel), pairs), (count + 127) / 128);
    }
    Pairs pairs(c.dst, c.src, 2200);
    EXPECT_LE(launches_of(pairs.plan(c.kernel), pairs), driver >= 12010 ? 2u : 18u);
  }
  for (const Case& c : kOneByOne) {
    Pairs pairs(c.dst, c.src, 5);
    EXPECT_EQ(launches_of(pairs.plan(c.kernel), pairs), 5u) << c.dst;
  }
}

TEST(GpuRunMany, CanBeCapturedAndReplayedWhenTheArraysAreGone) {
  Pairs pairs("f32 (32,32)", "f32 (32,32):(40,1)", 1000);
  cudaGraphExec_t exec = nullptr;
  (void)launches_of(pairs.plan(), pairs, &exec);
  const std::vector<void*> to = std::move(pairs.dst);
  const std::vector<const void*> from = std::move(pairs.src);
  pairs.dst.assign(to.size(), nullptr);
  pairs.src.assign(from.size(), nullptr);
  RESTRIDE_CHECK_CUDA(cudaGraphLaunch(exec, pairs.stream()));
  RESTRIDE_CHECK_CUDA(cudaStreamSynchronize(pairs.stream()));
  pairs.dst = to;
  pairs.src = from;
  EXPECT_EQ(pairs.wrong(), 0);
  RESTRIDE_CHECK_CUDA(cudaGraphExecDestroy(exec));
}

/// Then the pointers' own bits do not fit a word a pair.
TEST(GpuRunMany, CopiesBetweenTheHostAndTheDeviceByteByByte) {
  constexpr std::size_t kPairs = 2500, kBytes = 37, kPitch = 101, kAll = kPairs * kPitch;
  const Layout piece = contiguous(DType::kU8, {kBytes});
  Stream stream;
  DeviceBuffer to(kAll), from(kAll);
  void *host_to = nullptr, *host_from = nullptr;
  RESTRIDE_CHECK_CUDA(cudaMallocHost(&host_to, kAll));
  RESTRIDE_CHECK_CUDA(cudaMallocHost(&host_from, kAll));
  std::vector<std::uint8_t> in(kAll), out(kAll, 0xee);
  Rng rng(5);
  for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(rng());
  upload(from.data(), in, stream);
  upload(to.data(), out, stream);
  std::copy(in.begin(), in.end(), static_cast<std::uint8_t*>(host_from));
  std::fill_n(static_cast<std::uint8_t*>(host_to), kAll, std::uint8_t{0xee});
  std::vector<void*> dst;
  std::vector<const void*> src;
  for (std::size_t i = 0; i < kPairs; ++i) {
    std::byte* const side = i % 2 != 0 ? to.data() : static_cast<std::byte*>(host_to);
    const std::byte* const other = i % 3 != 0 ? from.data() : static_cast<const std::byte*>(host_from);
    dst.push_back(side + i * kPitch);
    src.push_back(other + i * 7919 % kPairs * kPitch);
  }
  Options options = on(stream);
  options.device = DeviceKind::kCuda;
  EXPECT_EQ(Plan(piece, piece, options).run_many(dst, src), 0);
  std::vector<std::uint8_t> got(kAll), want = out, host_want = out;
  download(got, to.data(), stream);
  for (std::size_t i = 0; i < kPairs; ++i)
    std::copy_n(&in[i * 7919 % kPairs * kPitch], kBytes, &(i % 2 != 0 ? want : host_want)[i * kPitch]);
  EXPECT_TRUE(got == want);
  EXPECT_TRUE(std::equal(host_want.begin(), host_want.end(), static_cast<std::uint8_t*>(host_to)));
  RESTRIDE_CHECK_CUDA(cudaFreeHost(host_to));
  RESTRIDE_CHECK_CUDA(cudaFreeHost(host_from));
}

TEST(GpuRunMany, RefusesAWrongPointerBeforeTheFirstLaunch) {
  Pairs pairs("f32 (32,32)", "f32 (32,32):(40,1)", 300);
  const Plan plan = pairs.plan();
  const std::vector<void*> to = pairs.dst;
  for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(static_cast<std::byte*>(to.back()) + 2)}) {
    pairs.dst.back() = bad;
    EXPECT_THROW((void)plan.run_many(pairs.dst, pairs.src), ArgumentError);
  }
  std::vector<std::uint8_t> got(64);
  download(got, to.front(), pairs.stream());
  EXPECT_TRUE(got == std::vector<std::uint8_t>(64, 0xee)) << "something was written";
}

}  // namespace
}  // namespace restride::test
