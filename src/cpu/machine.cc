#include "src/cpu/machine.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <fmt/format.h>
#include <hwy/targets.h>

#include "src/base/json_text.h"
#include "src/cpu/numbers.h"

namespace restride::cpu {
namespace {

CpuVendor vendor_here() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  unsigned highest = 0;
  unsigned vendor[3] = {};  // its twelve letters, in the order ebx, edx, ecx
  if (__get_cpuid(0, &highest, &vendor[0], &vendor[2], &vendor[1]) == 0) return CpuVendor::kOther;
  const auto is = [&](const char* name) { return std::memcmp(vendor, name, sizeof vendor) == 0; };
  if (is("AuthenticAMD") || is("HygonGenuine")) return CpuVendor::kAmd;
  if (is("GenuineIntel")) return CpuVendor::kIntel;
#endif
  return CpuVendor::kOther;
}

CpuTraits traits_here() noexcept {
  CpuTraits traits{vendor_here()};
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  traits.first_cache_bytes = ::sysconf(_SC_LEVEL1_DCACHE_SIZE);
  traits.second_cache_bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return traits;
}

/// The machines that were measured.
struct KnownCpu {
  CpuTraits traits;
  const CpuMachine& numbers;
};
constexpr CpuMachine kIntelMachine;
constexpr KnownCpu kKnownCpus[] = {{{CpuVendor::kIntel, 48 << 10, 2 << 20}, kIntelMachine},
                                   {{CpuVendor::kAmd, 48 << 10, 1 << 20}, kZen5Machine},
                                   {{CpuVendor::kAmd, 32 << 10, 1 << 20}, kZen4Machine},
                                   {{CpuVendor::kAmd, 32 << 10, 512 << 10}, kZen3Machine}};

/// How many times larger one cache is than the other, as a power of two.
double times_apart(std::int64_t a, std::int64_t b) noexcept {
  return a > 0 && b > 0 ? std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b))) : 0;
}

/// Bytes of the least unit that the kernels' permutes of two vectors take here; more than any where there are none.
std::int64_t least_shuffled_unit() noexcept {
  const std::int64_t usable = static_cast<std::int64_t>(hwy::SupportedTargets()) & HWY_TARGETS;
  const std::int64_t best = usable & -usable;  // the lowest bit
  return best <= HWY_AVX3_DL ? 1 : best <= HWY_AVX3 ? 2 : 32;
}

/// Bytes of the last cache that a thread may use: its part of what threads share; 0 where the processor does not say.
std::int64_t thread_cache_bytes() noexcept {
  std::int64_t bytes = 0;
#if defined(__x86_64__) || defined(__i386__)
  constexpr unsigned kIntels = 4, kAmds = 0x8000001d;  // leaves of one format
  for (unsigned i = 0; i < 8; ++i) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(vendor_here() == CpuVendor::kAmd ? kAmds : kIntels, i, &a, &b, &c, &d) == 0 || (a & 31) == 0)
      break;
    const std::int64_t ways = (b >> 22) + 1, partitions = (b >> 12 & 0x3ff) + 1, line = (b & 0xfff) + 1;
    const std::int64_t sharing = std::min<std::int64_t>((a >> 14 & 0xfff) + 1, ::sysconf(_SC_NPROCESSORS_ONLN));
    bytes = ways * partitions * line * (std::int64_t{c} + 1) / std::max<std::int64_t>(sharing, 1);  // levels go up
  }
#endif
  return bytes;
}

/// Sizes that a plan could not have. Errors: ParseError.
void require_sizes(const CpuMachine& m) {
  const auto require_power = [](std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most || !std::has_single_bit(static_cast<std::uint64_t>(value)))
      throw ParseError(fmt::format("'{}' is no power of two from {} to {}", name, least, most));
  };
  require_power("tile_least_rows", m.tile_least_rows, 1, 128);
  require_power("tile_column_bytes", m.tile_column_bytes, 64, 256);
  require_power("tile_byte_rows", m.tile_byte_rows, 64, 128);
  require_power("tile_band_columns", m.tile_band_columns, 64, 2048);
  if (m.tile_merged_column_bytes < 64 || m.tile_merged_column_bytes > 576)
    throw ParseError("'tile_merged_column_bytes' is no number from 64 to 576");
}

}  // namespace

const CpuMachine& nearest_cpu(const CpuTraits& traits) noexcept {
  constexpr double kOtherVendor = 1000;  // further than any cache is
  const KnownCpu* nearest = nullptr;
  double least = 0;
  for (const KnownCpu& known : kKnownCpus) {
    const double apart = (known.traits.vendor == traits.vendor ? 0 : kOtherVendor) +
                         times_apart(known.traits.first_cache_bytes, traits.first_cache_bytes) +
                         times_apart(known.traits.second_cache_bytes, traits.second_cache_bytes);
    if (nearest != nullptr && apart >= least) continue;
    nearest = &known;
    least = apart;
  }
  return nearest->numbers;
}

const CpuMachine& this_cpu() noexcept {
  static const CpuMachine machine = [] {
    CpuMachine m = nearest_cpu(traits_here());
    m.least_shuffled_unit = least_shuffled_unit();
    // A virtual machine is told of a cache that others use, too; no more was measured than the upper bound.
    m.thread_cache_bytes = std::clamp<std::int64_t>(thread_cache_bytes(), m.thread_cache_bytes, 16 << 20);
    return m;
  }();
  return machine;
}

std::string to_json(const CpuMachine& machine) {
  std::string out = fmt::format("{{\"name\": {}", base::json_quoted(machine.name));
  plan::append_numbers(&out, kCpuNumbers, machine);
  return out += '}';
}

CpuMachine cpu_machine_from(const base::JsonValue& in, const CpuMachine& like) {
  if (in.object() == nullptr) throw ParseError("'cpu' is no object");
  CpuMachine m = like;
  m.name = plan::machine_name(in);
  for (const base::JsonMember& member : *in.object())
    if (member.key != "name" && !plan::read_number(member, kCpuNumbers, &m))
      throw ParseError(fmt::format("'{}' is no number of a CPU's", member.key));
  require_sizes(m);
  return m;
}

}  // namespace restride::cpu
