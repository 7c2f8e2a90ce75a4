#include "src/cpu/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "src/cpu/families.h"
#include "src/cpu/numbers.h"
#include "src/cpu/planner.h"
#include "tests/property/random_layout.h"
#include "tests/support/throws.h"

namespace restride::cpu {
namespace {

using test::holds;
using test::message_of;

TEST(ThisCpu, TakesTheNumbersOfANamedMachine) {
  CpuMachine here = this_cpu();
  EXPECT_GE(here.least_shuffled_unit, 1);
  EXPECT_GE(here.thread_cache_bytes, CpuMachine().thread_cache_bytes);
  here.least_shuffled_unit = 1;                               // of the instruction set, not of the machine
  here.thread_cache_bytes = CpuMachine().thread_cache_bytes;  // of this very processor
  EXPECT_TRUE(here == CpuMachine() || here == kZen5Machine || here == kZen4Machine || here == kZen3Machine)
      << here.name;
}

TEST(NearestCpu, IsOfTheSameVendorThenOfTheClosestCaches) {
  EXPECT_EQ(nearest_cpu({CpuVendor::kAmd, 32 << 10, 1 << 20}).name, kZen4Machine.name);
  EXPECT_EQ(nearest_cpu({CpuVendor::kAmd, 32 << 10, 512 << 10}).name, kZen3Machine.name);
  EXPECT_EQ(nearest_cpu({CpuVendor::kAmd, 48 << 10, 1 << 20}).name, kZen5Machine.name);
  EXPECT_EQ(nearest_cpu({CpuVendor::kAmd, 48 << 10, 2 << 20}).name, kZen5Machine.name) << "caches of the Xeon";
  EXPECT_EQ(nearest_cpu({CpuVendor::kIntel, 48 << 10, 1 << 20}).name, CpuMachine().name) << "caches of the EPYC";
  EXPECT_EQ(nearest_cpu({CpuVendor::kOther, 64 << 10, 2 << 20}).name, CpuMachine().name);
  EXPECT_EQ(nearest_cpu({CpuVendor::kOther, 48 << 10, 1 << 20}).name, kZen5Machine.name);
  EXPECT_EQ(nearest_cpu({}).name, CpuMachine().name) << "nothing is known of it";
}

CpuMachine read(const std::string& text) { return cpu_machine_from(base::parse_json(text, {1 << 20, 8}), {}); }

TEST(CpuMachineAsText, ComesBack) {
  for (const CpuMachine& m : {CpuMachine(), kZen5Machine, kZen4Machine, kZen3Machine}) {
    const base::JsonValue in = base::parse_json(to_json(m), {1 << 20, 8});
    EXPECT_EQ(cpu_machine_from(in, {}), m) << to_json(m);
    EXPECT_EQ(cpu_machine_from(in, kZen5Machine), m) << "every number is named";
  }
}

TEST(CpuMachineAsText, TakesTheOtherMachinesNumbersWhereItNamesNone) {
  const base::JsonValue in = base::parse_json(R"({"name":"mine","row_ns":9.5,"near":false})", {1 << 20, 8});
  CpuMachine wanted = kZen5Machine;
  wanted.name = "mine";
  wanted.row_ns = 9.5;
  wanted.near = false;
  EXPECT_EQ(cpu_machine_from(in, kZen5Machine), wanted);
}

TEST(CpuMachineAsText, SaysWhatIsWrongWithIt) {
  const auto why = [](const std::string& text) { return message_of<ParseError>([&] { read(text); }); };
  EXPECT_TRUE(holds(why("[]"), "'cpu' is no object"));
  EXPECT_TRUE(holds(why("{}"), "no text 'name' of 1 to 60 characters"));
  EXPECT_TRUE(holds(why(R"({"name":"a\"b"})"), "'name' has other characters than plain ones"));
  EXPECT_TRUE(holds(why(R"({"name":"m","row":1})"), "'row' is no number of a CPU's"));
  EXPECT_TRUE(holds(why(R"({"name":"m","row_ns":-1})"), "'row_ns' is no number of 0 to 1e+09"));
  EXPECT_TRUE(holds(why(R"({"name":"m","row_ns":"1"})"), "'row_ns' is no number of 0 to 1e+09"));
  EXPECT_TRUE(holds(why(R"({"name":"m","l2_bytes":1.5})"), "'l2_bytes' is no whole number of 0 to 1e+12"));
  EXPECT_TRUE(holds(why(R"({"name":"m","stream_bytes_per_ns":0})"), "'stream_bytes_per_ns' is no number of 0.001"));
  EXPECT_TRUE(holds(why(R"({"name":"m","near":1})"), "'near' is neither true nor false"));
  for (const char* rows : {"0", "12", "256"})
    EXPECT_TRUE(holds(why(fmt::format(R"({{"name":"m","tile_least_rows":{}}})", rows)),
                      "'tile_least_rows' is no power of two from 1 to 128"));
  EXPECT_TRUE(
      holds(why(R"({"name":"m","tile_column_bytes":32})"), "'tile_column_bytes' is no power of two from 64 to 256"));
  EXPECT_TRUE(holds(why(R"({"name":"m","tile_band_columns":4096})"), "'tile_band_columns' is no power of two from 64"));
  for (const char* bytes : {"63", "577"})
    EXPECT_TRUE(holds(why(fmt::format(R"({{"name":"m","tile_merged_column_bytes":{}}})", bytes)),
                      "'tile_merged_column_bytes' is no number from 64 to 576"));
}

/// A machine with numbers from all over their ranges.
CpuMachine any_machine(std::mt19937_64& rng) {
  CpuMachine m;
  for (const auto& n : kCpuNumbers) {
    const plan::NumberRange range = plan::range_of(n.name);
    const int kind = static_cast<int>(rng() % 4);
    const double value = kind == 0 ? range.least
                         : kind == 1
                             ? range.most
                             : std::clamp(std::exp2(static_cast<double>(rng() % 40) - 8), range.least, range.most);
    if (n.flag != nullptr)
      m.*n.flag = kind % 2 == 0;
    else if (n.whole != nullptr)
      m.*n.whole = static_cast<std::int64_t>(value);
    else
      m.*n.real = value;
  }
  m.tile_least_rows = std::int64_t{1} << rng() % 8;
  m.tile_column_bytes = std::int64_t{64} << rng() % 3;
  m.tile_byte_rows = std::int64_t{64} << rng() % 2;
  m.tile_band_columns = std::int64_t{64} << rng() % 6;
  m.tile_merged_column_bytes = 64 + static_cast<std::int64_t>(rng() % 513);
  m.least_shuffled_unit = std::int64_t{1} << rng() % 6;
  return m;
}

TEST(AnyCpu, HasPlansThatCanBePrepared) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 numbers(seed);
    const CpuMachine machine = any_machine(numbers);
    test::Rng rng(seed);
    const test::Case c = test::random_case(rng, {});
    if (c.dst.elements() == 0) continue;
    const layout::Canonical canonical = layout::canonicalize(c.dst, c.src, 1, 1, layout::UnitRule::kAnywhere);
    SCOPED_TRACE(fmt::format("{}: {} -> {}", seed, to_string(c.src), to_string(c.dst)));
    const Decision d = plan_cpu(canonical, machine);
    EXPECT_NO_THROW(prepare_cpu(canonical, d, 2)) << d.chosen.kernel.text;
    for (const Candidate& k : d.others) {
      if (!k.applies) continue;
      Decision other = d;
      other.chosen = k;
      EXPECT_NO_THROW(prepare_cpu(canonical, other, 2)) << k.kernel.text;
    }
  }
}

}  // namespace
}  // namespace restride::cpu
