// src and dst against pages that no one may touch: a byte read or written outside ends the program.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "src/cpu/records.h"
#include "tests/base/every_cast.h"
#include "tests/cpu/family.h"
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

/// The plan as made, and with the parameters of large copies, on this machine and on others.
void check_all(const Case& c, const Plan::Impl& plan) {
  const Edits near_in_src_order = {{plan::ParamId::kStream, 1}, {plan::ParamId::kNear, 1}, {plan::ParamId::kOrder, 2}};
  const bool rows = plan.decision.chosen.kernel.family == plan::Family::kRows;
  // Of tiles in the caches and of runs another kernel takes what leaves them.
  const auto for_large = [&]() -> std::shared_ptr<const Plan::Impl> {
    Options options;
    options.reshape = true;
    const std::string_view kernel = plan.decision.chosen.kernel.text;
    cpu::Records records;
    const std::string_view tiles = cpu::tile_records(plan.canonical, &records) ? "tile/records" : "tile/units";
    options.family = kernel == "tile/matrices"                                ? tiles
                     : kernel == "run/units" && !plan.canonical.modes.empty() ? "run/pieces"
                                                                              : kernel;
    return plan.canonical.units == 0 ? nullptr : api::make_plan(c.dst, c.src, options, 1, 1);
  };
  const auto large = for_large();
  const auto edited = [&](const Edits& edits) {
    const Plan::Impl& from = large != nullptr ? *large : plan;
    plan::Decision decision = decided_for(from, edits);
    bool near = false;
    for (const auto& [id, value] : edits) {
      near |= id == plan::ParamId::kNear && value != 0;
      for (plan::Param& p : decision.chosen.params)
        if (p.id == id) p.value = value;
    }
    for (plan::Param& p : decision.chosen.params) {
      if (p.id == plan::ParamId::kSink) p.value = static_cast<std::int64_t>(cpu::Sink::kCarried);
      if (p.id == plan::ParamId::kLate) p.value = from.canonical.dst_unit <= 2 ? 1 : 0;
      if (p.id == plan::ParamId::kSource) p.value = near && !from.canonical.cast ? 1 : 0;
    }
    return api::with_decision(from, decision);
  };
  const auto streams = edited(kStreamed);
  const auto near = edited(kStreamedNear);
  const auto near_rows = rows ? edited(near_in_src_order) : nullptr;
  for (const Guarded::At at : {Guarded::At::kFront, Guarded::At::kBack}) {
    check(c, plan, at, 1);
    check(c, *streams, at, 2);
    check(c, *near, at, 2);
    if (rows) check(c, *near_rows, at, 2);
  }
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
      options.reshape = true;
      std::shared_ptr<Plan::Impl> plan;
      try {
        plan = api::make_plan(c.dst, c.src, options, 1, 1);
      } catch (const ArgumentError&) {
        continue;  // does not claim this layout
      }
      SCOPED_TRACE(std::to_string(seed) + " " + std::string(family) + " " + hwy::TargetName(target) + ": " +
                   to_string(c.src) + " -> " + to_string(c.dst));
      check_all(c, *plan);
    }
  }
}

/// One family on layouts whose last bytes it is tempted to read beyond.
void check_layouts(std::string_view family, std::initializer_list<std::string_view> sources,
                   std::initializer_list<const char*> elements = {"u8", "u16", "f32", "f64", "c128"}) {
  Options options;
  options.family = family;
  for (const std::int64_t target : instruction_sets()) {
    const OnInstructionSet here(target);
    for (const std::string_view text : sources)
      for (const char* element : elements) {
        const Layout src = parse_layout(std::string(element) + " " + std::string(text));
        std::vector<std::int64_t> shape;
        for (const Mode& m : src.modes) shape.push_back(m.extent);
        const Case c{contiguous(src.element, shape), src};
        SCOPED_TRACE(std::string(family) + " " + hwy::TargetName(target) + ": " + to_string(src));
        check_all(c, *api::make_plan(c.dst, c.src, options, 1, 1));
      }
  }
}

TEST(GuardPages, PackedTilesReadInPlaceStayInside) {
  check_layouts("packed", {"(3,1001):(1,3)", "(5,200):(1,5)", "(300,7,5):(35,1,7)", "(40,17,31):(527,1,17)",
                           "(7,3,11):(1,7,21)", "(5,3,7):(21,1,3)", "(70,9,14):(126,1,9)", "(90,13,3):(39,1,13)",
                           "(50,5,30):(150,1,5)", "(40,22,25):(550,1,22)", "(9,33,70):(2310,1,33)"});
}

TEST(GuardPages, TileRowsReadInPlaceStayInside) {
  check_layouts("tile", {"(150,131):(1,150)", "(33,35):(1,33)", "(67,70):(1,81)", "(150,11,13):(1,150,1703)"});
}

TEST(GuardPages, TileRowsStagedInPiecesStayInside) {
  check_layouts("tile", {"(517,70):(1,4096)", "(301,33):(1,8192)", "(70,67):(1,4096)"});
}

TEST(GuardPages, TilesOfRecordsStayInside) {
  check_layouts("tile",
                {"(150,131,3):(3,450,1)", "(33,70,3):(3,99,1)", "(64,64,3):(3,192,1)", "(65,130,3):(3,4096,1)",
                 "(68,67,3):(4,272,1)", "(150,131,3):(-3,450,1)@447", "(70,20,7):(7,490,1)"},
                {"u8", "u16", "f32", "f64"});
}

TEST(GuardPages, MatricesOfRecordsStayInside) {
  for (const std::int64_t target : instruction_sets()) {
    const OnInstructionSet here(target);
    for (const char* text :
         {"u8 (16,16,3):(3,48,1)", "u8 (17,19,3):(3,51,1)", "u8 (40,33,3):(3,120,1)", "u8 (21,35,3):(3,-63,1)@2142",
          "u8 (33,20,3):(3,99,-1)@2", "u8 (18,17,3):(4,72,1)", "u8 (8,8,5):(5,40,1)", "u8 (9,13,7):(7,63,1)",
          "u16 (11,10,3):(3,33,1)", "u8 (4,4,12):(12,48,1)", "u8 (7,5,13):(13,91,1)", "u8 (19,6,15):(16,304,1)",
          "f32 (13,9,3):(3,39,1)", "f32 (5,40,3):(-3,15,1)@12"}) {
      const Layout src = parse_layout(text);
      std::vector<std::int64_t> shape;
      for (const Mode& m : src.modes) shape.push_back(m.extent);
      const Case c{contiguous(src.element, shape), src};
      SCOPED_TRACE(std::string(hwy::TargetName(target)) + ": " + text);
      Options options;
      options.family = "tile/matrices";
      const auto plan = api::make_plan(c.dst, c.src, options, 1, 1);
      for (const Guarded::At at : {Guarded::At::kFront, Guarded::At::kBack}) check(c, *plan, at, 1);
    }
  }
}

TEST(GuardPages, BlocksOfShortRowsReadThemAsVectorsNoFurtherThanTheEnd) {
  check_layouts("buffered",
                {"(3,1001):(1,3)", "(2,70):(1,2)", "(5,133):(1,5)", "(15,70):(1,15)", "(3,130):(1,-3)@387",
                 "(3,19,3,14,9):(1,27,1539,3,378)", "(3,6,9,8):(1,216,3,27)", "(3,8,50):(1,-3,24)@21"},
                {"u8", "u16", "f32"});
}

TEST(GuardPages, ChannelsReadWholeVectorsNoFurtherThanTheLastPoint) {
  check_layouts("channels",
                {"(3,333):(1,3)", "(3,333):(1,4)", "(3,128):(1,4)", "(3,128):(-1,4)@2", "(2,7,192):(1,1600,8)",
                 "(7,65):(1,7)", "(333,3):(1,333)", "(128,8):(1,128)", "(77,5):(1,-77)@308"},
                {"u8", "u16", "f32", "f64"});
}

TEST(GuardPages, CastsOfAnyLengthStayInside) {
  for (const std::int64_t target : instruction_sets()) {
    const OnInstructionSet here(target);
    base::test::for_each_pair([&](DType dst, DType src) {
      for (const std::int64_t n : {1, 3, 7, 16, 17, 31, 33, 63, 64, 65, 100, 127, 131}) {
        const Case c{contiguous(dst, {n}), contiguous(src, {n})};
        SCOPED_TRACE(base::test::pair_name(dst, src) + " " + hwy::TargetName(target) + ", " + std::to_string(n));
        const auto plan = api::make_plan(c.dst, c.src, Options{}, 1, 1);
        for (const Guarded::At at : {Guarded::At::kFront, Guarded::At::kBack}) check(c, *plan, at, 1);
      }
    });
  }
}

}  // namespace
}  // namespace restride::test
