#include "src/cpu/fresh.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "src/base/huge_pages.h"
#include "tests/support/log_lines.h"
#include "tests/support/throws.h"

namespace restride::cpu {
namespace {

layout::Canonical canonical_of(const char* dst, const char* src) {
  return layout::canonicalize(parse_layout(dst), parse_layout(src), 1, 1, layout::UnitRule::kAnywhere,
                              layout::Shapes::kOfOneCount);
}

Stretches stretches(const char* dst, const char* src) { return stretches_of(canonical_of(dst, src), 4096); }

TEST(Stretches, OfADenseTensorAreAllOfIt) {
  const Stretches s = stretches("f32 (100,200)@50", "f32 (100,200):(1,100)");
  EXPECT_EQ(s.first, 200);
  EXPECT_EQ(s.bytes, 100 * 200 * 4);
  EXPECT_EQ(s.count, 1);
}

TEST(Stretches, HoldGapsThatAreShorterThanAPage) {
  const Stretches s = stretches("u8 (100,5000):(6000,1)", "u8 (100,5000)");
  EXPECT_EQ(s.bytes, 99 * 6000 + 5000);
  EXPECT_EQ(s.count, 1);
}

TEST(Stretches, EndWhereAGapIsAsLongAsAPage) {
  const Stretches s = stretches("u8 (3,100,5000):(10000000,9096,1)", "u8 (3,100,5000)");
  EXPECT_EQ(s.bytes, 5000);
  EXPECT_EQ(s.count, 300);
  EXPECT_EQ(s.modes.size(), 2u);
}

TEST(Stretches, BeginAtTheLowestByteWhateverTheDirection) {
  EXPECT_EQ(stretches("u8 (8192):(-1)@8191", "u8 (8192)").first, 0);
  // 6 x 4 against 4 x 6 with gaps: no common refinement, so strides keep their sign.
  const Stretches s = stretches("u8 (6,4):(-10,1)@50", "u8 (4,6):(7,1)");
  EXPECT_EQ(s.first, 0);
  EXPECT_EQ(s.bytes, 54);
}

/// A mapping of which nothing has been touched.
class Untouched : public testing::Test {
 protected:
  static constexpr std::int64_t kPages = 3000;
  void SetUp() override {
    page_ = ::sysconf(_SC_PAGESIZE);
    memory_ = ::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
  }
  void TearDown() override { ::munmap(memory_, size()); }
  std::size_t size() const { return static_cast<std::size_t>(kPages * page_); }
  /// The pages that are there, as ranges.
  std::string pages() const {
    std::vector<unsigned char> there(kPages);
    EXPECT_EQ(::mincore(memory_, size(), there.data()), 0);
    std::string out;
    for (int i = 0; i < kPages; ++i) {
      if ((there[static_cast<std::size_t>(i)] & 1) == 0) continue;
      if (i == 0 || (there[static_cast<std::size_t>(i - 1)] & 1) == 0) out += std::to_string(i) + "-";
      if (i + 1 == kPages || (there[static_cast<std::size_t>(i + 1)] & 1) == 0) out += std::to_string(i) + " ";
    }
    return out;
  }
  /// Prepares a tensor of u8 with these strides that begins so many bytes behind the mapping.
  void prepare(std::int64_t offset, const Layout& dst, FreshDestination how) {
    const Layout src = contiguous(DType::kU8, {dst.elements()});
    const auto c = layout::canonicalize(dst, src, 1, 1, layout::UnitRule::kAnywhere, layout::Shapes::kOfOneCount);
    prepare_fresh(static_cast<std::byte*>(memory_) + offset, dst, c, how, nullptr, 3);
  }
  std::int64_t page_ = 0;
  void* memory_ = nullptr;
};

TEST_F(Untouched, OfLittleGetsNoPagesByAdvice) {
  const Layout dst = contiguous(DType::kU8, {100 * page_});
  prepare(0, dst, FreshDestination::kAdvise);
  EXPECT_EQ(pages(), "");
  prepare(0, dst, FreshDestination::kPrefault);
  if (pages().empty()) GTEST_SKIP() << "this kernel does not populate";
  EXPECT_EQ(pages(), "0-99 ");
}

TEST_F(Untouched, OfSomeMiBGetsItsPagesWhateverIsAsked) {
  for (const FreshDestination how : {FreshDestination::kOff, FreshDestination::kAdvise, FreshDestination::kPrefault}) {
    prepare(7 * page_, contiguous(DType::kU8, {2000 * page_}), how);
    if (pages().empty()) GTEST_SKIP() << "this kernel does not populate";
    EXPECT_EQ(pages(), "7-2006 ");
    ASSERT_EQ(::madvise(memory_, size(), MADV_DONTNEED), 0);
  }
}

TEST_F(Untouched, IsFoundToBeByTheMiddleOfATensorOfSomeMiB) {
  const auto has_none = [&](const char* notation) { return has_no_pages(memory_, parse_layout(notation)); };
  EXPECT_TRUE(has_none("u8 (2,4000000)"));
  EXPECT_TRUE(has_none("f32 (1000,1100):(1,1000)"));
  EXPECT_FALSE(has_none("u8 (4194303)"));
  static_cast<volatile char*>(memory_)[4000000] = 1;  // element (1, 0)
  EXPECT_FALSE(has_none("u8 (2,4000000):(4000000,1)@-2000000"));
  EXPECT_TRUE(has_none("u8 (2,4000000)"));
  EXPECT_FALSE(has_none("u8 (8000000):(-1)@8000000"));
  EXPECT_EQ(::munmap(memory_, size()), 0);
  EXPECT_FALSE(has_none("u8 (8000000)"));
  SetUp();
}

TEST(HasNoPages, IsFalseOfWhatNoMemoryHas) {
  Layout l = contiguous(DType::kF32, {1 << 12, 1 << 12});
  EXPECT_FALSE(has_no_pages(nullptr, l));
  errno = 7;
  EXPECT_FALSE(has_no_pages(reinterpret_cast<void*>(~std::uintptr_t{0}), l));
  EXPECT_EQ(errno, 7);
  l.modes[0] = {INT64_MAX, INT64_MIN};
  EXPECT_FALSE(has_no_pages(nullptr, l));
  l.modes[1].extent = -5;
  EXPECT_FALSE(has_no_pages(nullptr, l));
}

TEST_F(Untouched, GetsWholePagesInsideTheTensorOnly) {
  prepare(10 * page_ + 1, contiguous(DType::kU8, {100 * page_}), FreshDestination::kPrefault);
  if (pages().empty()) GTEST_SKIP() << "this kernel does not populate";
  EXPECT_EQ(pages(), "11-109 ");
}

TEST_F(Untouched, GetsAllPagesOfTensorsThatSeveralThreadsShare) {
  prepare(5 * page_, contiguous(DType::kU8, {2990 * page_}), FreshDestination::kPrefault);
  if (pages().empty()) GTEST_SKIP() << "this kernel does not populate";
  EXPECT_EQ(pages(), "5-2994 ");
}

TEST_F(Untouched, GetsNoPagesInGaps) {
  const std::vector<std::int64_t> extents{3, 50 * page_}, strides{200 * page_, 1};
  prepare(0, strided(DType::kU8, extents, strides), FreshDestination::kPrefault);
  if (pages().empty()) GTEST_SKIP() << "this kernel does not populate";
  EXPECT_EQ(pages(), "0-49 200-249 400-449 ");
}

TEST_F(Untouched, IsLeftAloneWhereTheKernelRefuses) {
  ASSERT_EQ(::mprotect(memory_, size(), PROT_READ), 0);
  errno = 7;
  prepare(0, contiguous(DType::kU8, {100 * page_}), FreshDestination::kPrefault);
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(pages(), "");
}

TEST_F(Untouched, ThatCannotBePopulatedIsToldOfOnce) {
  ASSERT_EQ(::mprotect(memory_, size(), PROT_READ), 0);
  const test::LogLines lines;
  prepare(0, contiguous(DType::kU8, {100 * page_}), FreshDestination::kPrefault);
  EXPECT_TRUE(test::holds(lines.text(), std::to_string(100 * page_ / 1024) + " KiB of a destination", "Linux 5.14",
                          "that may be written", "set Options::fresh_destination to off"));
  const std::size_t before = lines.count();
  prepare(0, contiguous(DType::kU8, {100 * page_}), FreshDestination::kPrefault);
  EXPECT_EQ(lines.count(), before);
}

TEST_F(Untouched, WithoutHugePagesIsToldOfOnce) {
  constexpr std::int64_t kHole = kPages / 2;
  ASSERT_EQ(::munmap(static_cast<std::byte*>(memory_) + kHole * page_, static_cast<std::size_t>(page_)), 0);
  const test::LogLines lines;
  if (!base::huge_pages_are_off()) {
    prepare((kHole - 50) * page_, contiguous(DType::kU8, {100 * page_}), FreshDestination::kAdvise);
    EXPECT_EQ(lines.count(), 0u) << "nothing is asked for less than a huge page";
  }
  const Layout all = contiguous(DType::kU8, {(kPages - 1) * page_});
  prepare(0, all, FreshDestination::kAdvise);
  EXPECT_TRUE(test::holds(lines.text(), "have no huge pages (", std::string("allow them in ") + base::kHugePagesSetting,
                          "set Options::fresh_destination to off"));
  const std::size_t before = lines.count();
  prepare(0, all, FreshDestination::kAdvise);
  EXPECT_EQ(lines.count(), before);
}

TEST_F(Untouched, IsNotWorthALineWhereAllWasGranted) {
  if (base::huge_pages_are_off()) GTEST_SKIP() << "huge pages are turned off here";
  const test::LogLines lines;
  prepare(0, contiguous(DType::kU8, {100 * page_}), FreshDestination::kAdvise);
  if (lines.count() != 0) GTEST_SKIP() << "this kernel has none: " << lines.text();
  prepare(0, contiguous(DType::kU8, {100 * page_}), FreshDestination::kOff);
  EXPECT_EQ(lines.text(), "");
}

}  // namespace
}  // namespace restride::cpu
