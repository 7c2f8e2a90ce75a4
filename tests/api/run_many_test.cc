#include <restride/copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/instruction_sets.h"
#include "tests/support/throws.h"

namespace restride {
namespace {

using test::holds;
using test::message_of;

/// Pairs of transposed matrices with canaries behind each.
struct Pairs {
  Pairs(std::size_t count, std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols) {
    for (std::size_t i = 0; i < count; ++i) {
      auto& from = src_.emplace_back(static_cast<std::size_t>(rows * cols));
      std::iota(from.begin(), from.end(), static_cast<std::uint32_t>(i * 1000003));
      dst_.emplace_back(from.size() + 1, 0xeeeeeeeeu);
    }
    for (std::size_t i = 0; i < count; ++i) {
      to.push_back(dst_[i].data());
      from.push_back(src_[i].data());
    }
  }
  Layout dst() const { return contiguous(DType::kU32, {cols_, rows_}); }
  Layout src() const { return permute(contiguous(DType::kU32, {rows_, cols_}), {1, 0}); }
  int wrong() const {
    int n = 0;
    for (std::size_t i = 0; i < dst_.size(); ++i) {
      for (std::int64_t c = 0; c < cols_; ++c)
        for (std::int64_t r = 0; r < rows_; ++r)
          n += dst_[i][static_cast<std::size_t>(c * rows_ + r)] != src_[i][static_cast<std::size_t>(r * cols_ + c)];
      n += dst_[i].back() != 0xeeeeeeeeu ? 1 : 0;
    }
    return n;
  }
  std::vector<void*> to;
  std::vector<const void*> from;

 private:
  std::int64_t rows_, cols_;
  std::vector<std::vector<std::uint32_t>> src_, dst_;
};

TEST(RunMany, CopiesEveryPairOnceOnAnyNumberOfThreads) {
  struct Size {
    std::size_t count;
    std::int64_t rows, cols;
  };
  for (const Size s : {Size{1, 700, 500}, {2, 1024, 999}, {3, 512, 512}, {1000, 32, 31}, {7, 1, 1}, {5000, 3, 2}})
    for (const int threads : {1, 2, 3, 16}) {
      Pairs pairs(s.count, s.rows, s.cols);
      Options options;
      options.threads = threads;
      const Plan plan(pairs.dst(), pairs.src(), options);
      EXPECT_EQ(plan.run_many(pairs.to, pairs.from), 0);
      EXPECT_EQ(pairs.wrong(), 0) << s.count << " of " << s.rows << " x " << s.cols << " on " << threads;
    }
}

/// Runs of `bytes` bytes that start `skew` bytes behind a multiple of 64, in reverse order, with canaries around them.
void copy_runs(std::size_t count, std::size_t bytes, std::size_t skew) {
  constexpr std::uint8_t kCanary = 0xee;
  const std::size_t pitch = (bytes + skew + 64) / 64 * 64 + 64;
  std::vector<std::uint8_t> from(count * pitch), to(count * pitch, kCanary), wanted = to;
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 31 % 211);
  std::vector<void*> dst;
  std::vector<const void*> src;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t write = i * pitch + skew, read = (count - 1 - i) * pitch + 1;
    dst.push_back(to.data() + write - 5);
    src.push_back(from.data() + read - 3);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(read), bytes,
                wanted.begin() + static_cast<std::ptrdiff_t>(write));
  }
  Layout d = contiguous(DType::kU8, {static_cast<std::int64_t>(bytes)}), s = d;
  d.offset_bytes = 5;
  s.offset_bytes = 3;
  Options options;
  options.threads = 1;
  const Plan plan(d, s, options);
  EXPECT_EQ(plan.run_many(dst, src), 0);
  EXPECT_EQ(to, wanted) << count << " of " << bytes << " bytes, " << skew << " behind a line";
}

TEST(RunMany, CopiesRunsOnEveryInstructionSet) {
  for (const std::int64_t set : test::instruction_sets()) {
    SCOPED_TRACE(hwy::TargetName(set));
    const test::OnInstructionSet on(set);
    for (const std::size_t count : {1, 2, 3, 8})
      for (const std::size_t bytes : {1, 16, 31, 32, 63, 64, 65, 127, 128, 191, 1000, 4096, 32768, 32769})
        for (const std::size_t skew : {5, 21, 64}) copy_runs(count, bytes, skew);
  }
}

TEST(RunMany, SharesPairsOnTheCallersPool) {
  Pairs pairs(64, 128, 128);
  std::atomic<int> tasks{0};
  const Executor executor{[](void* context, int count, void (*body)(void*, int), void* arg) {
                            *static_cast<std::atomic<int>*>(context) += count;
                            for (int i = count; i-- > 0;) body(arg, i);
                          },
                          &tasks, 4};
  Options options;
  options.executor = &executor;
  const Plan plan(pairs.dst(), pairs.src());
  EXPECT_EQ(plan.run_many(pairs.to, pairs.from, options), 0);
  EXPECT_EQ(tasks, 4);
  EXPECT_EQ(pairs.wrong(), 0);
}

TEST(RunMany, RefusesBeforeAByteIsWritten) {
  Pairs pairs(3, 8, 8);
  const Plan plan(pairs.dst(), pairs.src(), {}, 4, 4);
  const auto message = [&] { return message_of<ArgumentError>([&] { (void)plan.run_many(pairs.to, pairs.from); }); };
  void* const last = pairs.to[2];
  pairs.to[2] = nullptr;
  EXPECT_TRUE(holds(message(), "dst[2]", "null", "give it memory"));
  pairs.to[2] = static_cast<std::byte*>(last) + 2;
  EXPECT_TRUE(holds(message(), "dst[2]", "4 bytes", "smaller alignment"));
  pairs.to[2] = last;
  const void* const first = pairs.from[0];
  pairs.from[0] = nullptr;
  EXPECT_TRUE(holds(message(), "src[0]", "null"));
  pairs.from[0] = first;
  pairs.from.pop_back();
  EXPECT_TRUE(holds(message(), "3 pointers", "2"));
  EXPECT_EQ(static_cast<std::uint32_t*>(pairs.to[0])[0], 0xeeeeeeeeu);
  EXPECT_EQ(static_cast<std::uint32_t*>(pairs.to[1])[0], 0xeeeeeeeeu);
}

TEST(RunMany, OfNothingDoesNothing) {
  const Plan plan(contiguous(DType::kF32, {4}), contiguous(DType::kF32, {4}));
  EXPECT_EQ(plan.run_many({}, {}), 0);
  const Plan empty(contiguous(DType::kF32, {0}), contiguous(DType::kF32, {0}));
  void* const to[] = {nullptr};
  const void* const from[] = {nullptr};
  EXPECT_EQ(empty.run_many(to, from), 0);
}

}  // namespace
}  // namespace restride
