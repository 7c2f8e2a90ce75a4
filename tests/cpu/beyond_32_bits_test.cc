// Copies of more than 2^32 elements and through offsets far beyond 2^32 bytes, on a machine that has no memory for
// them: only pages that a copy writes are ever backed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/api/plan_impl.h"
#include "tests/property/random_layout.h"
#include "tests/support/families.h"
#include "tests/support/instruction_sets.h"

namespace restride::test {
namespace {

constexpr std::size_t kPage = 4096;

/// Addresses, with memory behind those that are written; what is not reads as 0.
class Sparse {
 public:
  explicit Sparse(std::int64_t bytes) : bytes_((static_cast<std::size_t>(bytes) + kPage - 1) / kPage * kPage) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    madvise(at, bytes_, MADV_NOHUGEPAGE);  // a byte should not cost 2 MiB
    data_ = static_cast<std::uint8_t*>(at);
  }
  ~Sparse() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  std::uint8_t* data() const noexcept { return data_; }
  void clear() const noexcept { madvise(data_, bytes_, MADV_DONTNEED); }

  /// Calls f(offset, byte) for every byte of the backed pages.
  template <class F>
  void each_backed_byte(const F& f) const {
    std::vector<unsigned char> backed(bytes_ / kPage);
    ASSERT_EQ(mincore(data_, bytes_, backed.data()), 0);
    for (std::size_t page = 0; page < backed.size(); ++page)
      if ((backed[page] & 1) != 0)
        for (std::size_t i = page * kPage; i < (page + 1) * kPage; ++i) f(static_cast<std::int64_t>(i), data_[i]);
  }

 private:
  std::size_t bytes_;
  std::uint8_t* data_ = nullptr;
};

/// Bytes that repeat themselves: one piece of memory at as many addresses as it takes. No byte is 0.
class Repeated {
 public:
  static constexpr std::int64_t kPeriod = 4093 * static_cast<std::int64_t>(kPage);  // divides no power of two

  explicit Repeated(std::int64_t bytes) : bytes_(static_cast<std::size_t>((bytes / kPeriod + 1) * kPeriod)) {
    const int file = memfd_create("restride-test", MFD_CLOEXEC);
    if (file < 0) return;
    void* at = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
      data_ = static_cast<std::uint8_t*>(at);
      complete_ = ftruncate(file, kPeriod) == 0;
      for (std::size_t i = 0; i < bytes_ && complete_; i += kPeriod)
        complete_ = mmap(data_ + i, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
      for (std::int64_t i = 0; i < kPeriod && complete_; ++i) data_[i] = at_offset(i);
    }
    close(file);
  }
  ~Repeated() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  const std::uint8_t* data() const noexcept { return complete_ ? data_ : nullptr; }
  static std::uint8_t at_offset(std::int64_t offset) noexcept {
    const auto i = static_cast<std::uint64_t>(offset % kPeriod);
    return static_cast<std::uint8_t>((i * 0x9E3779B97F4A7C15ULL) >> 56 | 1);
  }

 private:
  std::size_t bytes_;
  std::uint8_t* data_ = nullptr;
  bool complete_ = false;
};

std::int64_t offset_of(const Layout& l, std::int64_t element) {
  std::int64_t at = l.offset_bytes;
  for (std::size_t m = l.modes.size(); m-- > 0; element /= l.modes[m].extent)
    at += element % l.modes[m].extent * l.modes[m].stride_bytes;
  return at;
}

/// The plan of a family; null where it does not claim the copy.
std::unique_ptr<Plan> planned(const Layout& dst, const Layout& src, std::string_view family) {
  Options options;
  options.family = family;
  options.device = DeviceKind::kCpu;
  options.threads = 1;
  try {
    return std::make_unique<Plan>(dst, src, options);
  } catch (const ArgumentError&) {
    return nullptr;
  }
}

TEST(Beyond32Bits, FamiliesReachFarStridesOnBothSides) {
  const struct {
    const char* dst;
    const char* src;
  } copies[] = {
      {"f32 (64,64):(300000001,1)", "f32 (64,64):(1,299999999)"},
      {"u8 (40,40):(1,2400000011)", "u8 (40,40):(2390000017,1)"},
      {"f32 (16,3):(3,1)", "f32 (16,3):(1,5000000000)"},
      {"u8 (64,3):(3,1)", "u8 (64,3):(1,20000000003)"},
      {"u8 (20,3,64):(4200000000,64,1)", "u8 (20,3,64):(4300000000,1,3)"},
      {"f64 (33,33):(1,300000000)", "f64 (33,33):(299999999,1)"},
      {"f16 (2,2,2,2,2,2,2):(4300000000,2150000000,1075000000,4,2,1,8)",
       "f16 (2,2,2,2,2,2,2):(1,2,4,4400000001,8,2200000000,16)"},
      {"f32 (64,64):(300000001,1)", "f16 (64,64):(1,599999999)"},
      {"u8 (9,5000):(8000000000,1)", "u8 (9,5000):(-8000000001,-1)@90000000000"},
      {"b12 (7,7):(1,500000000)", "b12 (7,7):(510000000,1)"},
      {"f32 (5,3,30):(1073741824,30,1)", "f32 (5,3,30):(-1073741825,1,3)@5000000000"},
  };
  constexpr std::int64_t kReach = std::int64_t{96} << 30;
  const Sparse from(kReach), to(kReach), expected(kReach);
  if (from.data() == nullptr || to.data() == nullptr || expected.data() == nullptr)
    GTEST_SKIP() << "three times 96 GiB of addresses cannot be had";
  int ran = 0;
  for (const auto& k : copies) {
    const Layout dst = parse_layout(k.dst), src = parse_layout(k.src);
    ASSERT_LE(std::max(byte_range(dst).second, byte_range(src).second), kReach) << k.dst << " <- " << k.src;
    from.clear();
    expected.clear();
    for (std::int64_t i = 0; i < src.elements(); ++i)
      for (std::int64_t b = 0; b < src.element.size_bytes; ++b)
        from.data()[offset_of(src, i) + b] = static_cast<std::uint8_t>(i * 7 + b * 31 + 1) & 0x3f;  // no NaNs
    naive_copy(dst, expected.data(), src, from.data());
    for (const std::int64_t target : instruction_sets()) {
      const OnInstructionSet here(target);
      for (const std::string_view family : families()) {
        const auto plan = planned(dst, src, family);
        if (plan == nullptr) continue;
        SCOPED_TRACE(std::string(hwy::TargetName(target)) + ": " + plan->serialize());
        ++ran;
        to.clear();
        plan->run(to.data(), from.data());
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < dst.elements(); ++i) {
          const std::int64_t at = offset_of(dst, i);
          wrong +=
              std::memcmp(to.data() + at, expected.data() + at, static_cast<std::size_t>(dst.element.size_bytes)) != 0;
        }
        ASSERT_EQ(wrong, 0);
      }
    }
  }
  EXPECT_GT(ran, 40);
}

/// What tasks have written, and whether it is right.
struct Written {
  std::int64_t bytes = 0, wrong = 0, highest = 0;
};

Written written_by(const Layout& src, const Sparse& to) {
  Written w;
  to.each_backed_byte([&](std::int64_t at, std::uint8_t byte) {
    if (byte == 0) return;
    w.highest = at;
    if (++w.bytes % 61 == 1 && Repeated::at_offset(offset_of(src, at)) != byte) ++w.wrong;
  });
  return w;
}

/// Runs a few of the tasks of a copy of bytes into a dense dst, far apart: what they write is right.
void run_some_tasks(const Plan& plan, const Repeated& from, const Sparse& to) {
  const Plan::Impl& p = plan.impl();
  const cpu::CommonArgs& a = p.cpu.common();
  const auto* src = reinterpret_cast<const std::byte*>(from.data()) + p.canonical.src_offset + a.src_shift;
  auto* dst = reinterpret_cast<std::byte*>(to.data()) + p.canonical.dst_offset + a.dst_shift;
  const std::int64_t groups = (a.tasks + a.align_tasks - 1) / a.align_tasks;
  std::int64_t highest = 0;
  for (const std::int64_t percent : {0, 25, 50, 75, 100}) {
    const std::int64_t at = (groups - 1) / 100 * percent + (groups - 1) % 100 * percent / 100;
    Written w;
    for (std::int64_t more = 1; w.bytes == 0 && more < 10000; more *= 8) {  // blocks behind a mode's end are empty
      to.clear();
      const std::int64_t first = std::max<std::int64_t>(at - more + 1, 0);
      p.cpu.run(dst, src, first * a.align_tasks, std::min((at + 1) * a.align_tasks, a.tasks));
      w = written_by(p.src, to);
    }
    EXPECT_GT(w.bytes, 0) << "at " << percent << " %";
    EXPECT_EQ(w.wrong, 0) << "at " << percent << " %";
    highest = std::max(highest, w.highest);
  }
  EXPECT_GT(highest, std::int64_t{1} << 32);
}

TEST(Beyond32Bits, TasksOfMoreElementsWriteWhatIsTheirs) {
  const struct {
    const char* dst;
    const char* src;
  } copies[] = {
      {"u8 (5000000000)", "u8 (5000000000)"},
      {"u8 (70001,65537)", "u8 (70001,65537):(65600,1)"},
      {"u8 (92702,46411)", "u8 (92702,46411):(1,92702)"},
      {"u8 (1500000001,3)", "u8 (1500000001,3):(1,1500000001)"},
      {"u8 (3,1500000001)", "u8 (3,1500000001):(1,3)"},
      {"u8 (180000001,5,5)", "u8 (180000001,5,5):(25,1,5)"},
      {"u8 (450001,77,129)", "u8 (450001,77,129):(9933,1,77)"},
  };
  std::int64_t reach = 0;
  for (const auto& k : copies) reach = std::max(reach, byte_range(parse_layout(k.src)).second);
  const Repeated from(reach);
  const Sparse to(reach);
  if (from.data() == nullptr || to.data() == nullptr) GTEST_SKIP() << "twice " << reach << " addresses cannot be had";
  std::vector<std::string_view> ran;
  for (const auto& k : copies)
    for (const std::string_view family : families()) {
      const auto plan = planned(parse_layout(k.dst), parse_layout(k.src), family);
      if (plan == nullptr) continue;
      SCOPED_TRACE(plan->serialize());
      run_some_tasks(*plan, from, to);
      if (HasFatalFailure()) return;
      if (std::find(ran.begin(), ran.end(), family) == ran.end()) ran.push_back(family);
    }
  EXPECT_EQ(ran.size(), families().size()) << "every family claims one of these";
}

}  // namespace
}  // namespace restride::test
