// src and dst against pages that no one may touch: a byte read or written outside ends the program.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "src/api/plan_impl.h"
#include "tests/property/random_layout.h"
#include "tests/support/families.h"
#include "tests/support/instruction_sets.h"

namespace restride::test {
namespace {

/// A layout's bytes with a forbidden page directly before their first or behind their last.
class Guarded {
 public:
  enum class At { kFront, kBack };
  Guarded(const Layout& layout, At at) {
    const auto [lo, hi] = byte_range(layout);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto bytes = static_cast<std::size_t>(hi - lo);
    const std::size_t inner = (bytes + page - 1) / page * page;
    size_ = inner + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    if (inner != 0 && mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    first_ = base_ + page + (at == At::kFront ? 0 : inner - bytes);
    data_ = first_ - lo;
    page_ = page;
    inner_ = inner;
  }
  ~Guarded() { munmap(base_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() const noexcept { return data_; }
  void fill(std::uint64_t seed) noexcept {
    for (std::size_t i = 0; i < inner_; ++i) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      base_[page_ + i] = static_cast<std::byte>(seed >> 56);
    }
  }
  void forbid_writing() noexcept {
    if (inner_ != 0) mprotect(base_ + page_, inner_, PROT_READ);
  }
  /// The whole inner part: the layout's bytes and what shares their pages.
  std::vector<std::byte> bytes() const { return {base_ + page_, base_ + page_ + inner_}; }

 private:
  std::byte* base_ = nullptr;
  std::byte* first_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t page_ = 0;
  std::size_t inner_ = 0;
};

void check(const Case& c, const Plan::Impl& plan, Guarded::At at, int threads) {
  Guarded src(c.src, at);
  Guarded dst(c.dst, at);
  Guarded expected(c.dst, at);
  src.fill(1);
  src.forbid_writing();
  dst.fill(2);
  expected.fill(2);
  naive_copy(c.dst, expected.data(), c.src, src.data());
  api::run_plan(plan, dst.data(), src.data(), nullptr, threads, nullptr);
  EXPECT_TRUE(dst.bytes() == expected.bytes());
}

TEST(GuardPages, NoFamilyTouchesAByteOutsideItsTensors) {
  const std::vector<std::int64_t> sets = instruction_sets();
  for (std::uint64_t seed = 0; seed < 600 && !HasFailure(); ++seed) {
    const std::int64_t target = sets[seed % sets.size()];
    const OnInstructionSet here(target);
    Rng rng(seed);
    Limits limits;
    limits.elements = seed % 10 == 0 ? 30000 : 2000;
    const Case c = random_case(rng, limits);
    if (c.dst.elements() == 0) continue;
    for (std::string_view family : families()) {
      Options options;
      options.family = family;
      std::shared_ptr<Plan::Impl> plan;
      try {
        plan = api::make_plan(c.dst, c.src, options, 1, 1);
      } catch (const ArgumentError&) {
        continue;  // does not claim this layout
      }
      SCOPED_TRACE(std::to_string(seed) + " " + std::string(family) + " " + hwy::TargetName(target) + ": " +
                   to_string(c.src) + " -> " + to_string(c.dst));
      plan::Decision streamed = plan->decision;
      for (plan::Param& p : streamed.chosen.params)
        if (p.id == plan::ParamId::kStream) p.value = 1;
      const auto streams = api::with_decision(*plan, streamed);
      for (const Guarded::At at : {Guarded::At::kFront, Guarded::At::kBack}) {
        check(c, *plan, at, 1);
        check(c, *streams, at, 2);
      }
    }
  }
}

}  // namespace
}  // namespace restride::test
