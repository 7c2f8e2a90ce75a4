#include "tools/bench/runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <restride/restride.hpp>

#include "tools/bench/check.h"
#include "tools/bench/host_memory.h"

namespace restride::bench {
namespace {

constexpr double kContenderNs = 3e9;        // a contender that took longer than this is done after three samples
constexpr double kPlanningNs = 2e6;         // as long as this, planning is repeated
constexpr std::int64_t kBufferAlign = 256;  // cudaMalloc's; pages are more. A layout carries its own offset.

/// A float format's exponent: where it lies in a word of `bytes`, and which values are of everyday size.
struct Exponent {
  int bytes, shift, bits, lowest;
};

std::optional<Exponent> exponent_of(DType t) {
  switch (t) {
    case DType::kF16: return Exponent{2, 10, 5, 7};  // 2^-8 .. 2^8
    case DType::kBF16: return Exponent{2, 7, 8, 119};
    case DType::kF32:
    case DType::kC64: return Exponent{4, 23, 8, 119};
    case DType::kF64:
    case DType::kC128: return Exponent{8, 52, 11, 1015};
    default: return std::nullopt;
  }
}

/// Gives every word an everyday exponent, but leaves one in 16 as it is where `wild`.
template <class Word>
void tame(std::span<std::byte> memory, const Exponent& e, bool wild) {
  const Word mask = static_cast<Word>(((Word{1} << e.bits) - 1) << e.shift);
  for (std::size_t at = 0; at + sizeof(Word) <= memory.size(); at += sizeof(Word)) {
    Word bits;
    std::memcpy(&bits, memory.data() + at, sizeof bits);
    if (wild && (bits & 15) == 0) continue;
    const Word exponent = static_cast<Word>(e.lowest + ((bits & mask) >> e.shift) % 16);
    bits = static_cast<Word>((bits & ~mask) | exponent << e.shift);
    std::memcpy(memory.data() + at, &bits, sizeof bits);
  }
}

/// Random bits; but mostly numbers of everyday size where floats are going to be cast, because a random f32 nearly
/// always overflows f16, and only such numbers where peers that calculate (x * 1 + 0) meet floats.
void fill_source(std::span<std::byte> memory, const Case& c, const RunSettings& settings) {
  fill_random(memory, settings.seed);
  const bool cast = c.spec.src != c.spec.dst;
  const auto exponent = exponent_of(c.spec.src.dtype);
  if (!exponent || !(cast || settings.peers)) return;
  switch (exponent->bytes) {
    case 2: return tame<std::uint16_t>(memory, *exponent, !settings.peers);
    case 4: return tame<std::uint32_t>(memory, *exponent, !settings.peers);
    default: return tame<std::uint64_t>(memory, *exponent, !settings.peers);
  }
}

double time_planning(const Case& c, const Options& options) {
  std::vector<double> samples;
  double spent = 0;
  while (samples.size() < 5 || (spent < kPlanningNs && samples.size() < 200)) {
    const double start = now_ns();
    const Plan plan(c.dst.layout, c.src.layout, options, kBufferAlign, kBufferAlign);
    samples.push_back(now_ns() - start);
    spent += samples.back();
  }
  return summarize(samples).median_ns;
}

/// Pairs of buffers such that a slot has left the cache before its turn comes again.
int slots_for(std::int64_t pair_bytes, const Device& device, bool small) {
  if (small) return 1;
  const double cold = (device.kind() == DeviceKind::kCuda ? 4.0 : 2.0) * static_cast<double>(device.cache_bytes());
  return static_cast<int>(
      std::clamp(std::ceil(cold / static_cast<double>(std::max<std::int64_t>(1, pair_bytes))), 1.0, 64.0));
}

/// What is wrong with a contender's output, or nothing.
std::optional<std::string> check(const Contender& contender, const Case& c, Device& device) {
  device.poison_destination();
  contender.run(device.slot(0));
  device.finish();
  const std::span<std::byte> all = device.fetch_destination();
  return find_fault(all.data() + kGuardBytes, c.dst.layout, device.host_source().data(), c.src.layout, all);
}

/// One contender's samples.
struct Samples {
  const Contender* contender = nullptr;
  int calls = 1;
  std::vector<double> ns = {};
  double spent_ns = 0;
};

/// As many calls that a rep of small work outlasts the clock and, on CUDA, the launches.
int calls_for(const Contender& contender, Device& device) {
  double one = device.time_ns(contender, 0, 1);
  int calls = 1;
  while (one * calls < device.batch_ns() && calls < 1 << 16) {
    calls *= 2;
    one = device.time_ns(contender, 0, calls);
  }
  return calls;
}

/// Turn by turn, so that a change of the machine's pace meets all alike. Finding the number of calls warms up.
void time_all(std::vector<Samples>& all, Device& device, int reps, int slots) {
  for (Samples& s : all) s.calls = calls_for(*s.contender, device);
  int slot = 0;
  for (int rep = 0; rep < reps; ++rep) {
    for (Samples& s : all) {
      if (s.ns.size() >= 3 && s.spent_ns > kContenderNs) continue;
      s.ns.push_back(device.time_ns(*s.contender, slot, s.calls));
      s.spent_ns += s.ns.back() * s.calls;
      slot = (slot + s.calls) % slots;
    }
  }
}

void measure(const Case& c, Device& device, const RunSettings& settings, CaseResult& out) {
  Options options = device.options();
  options.family = settings.family;
  std::optional<Plan> plan;
  try {
    plan.emplace(c.dst.layout, c.src.layout, options, kBufferAlign, kBufferAlign);
  } catch (const Error& e) {
    out.skipped = !settings.family.empty() && e.code() == ErrorCode::kInvalidArgument;
    out.error = e.what();
    return;
  }
  out.family = plan->family();
  out.plan_threads = plan->threads();
  out.plan_ns = time_planning(c, options);

  const std::int64_t ceiling_bytes = (out.bytes + 1) / 2;
  const std::int64_t side_bytes = std::max({c.src.buffer_bytes, c.dst.buffer_bytes, ceiling_bytes});
  const bool small = out.bytes <= kSmallBytes;
  const int slots = slots_for(c.src.buffer_bytes + c.dst.buffer_bytes, device, small);
  device.reserve(side_bytes, slots);
  fill_source(device.host_source(), c, settings);
  device.publish_source();

  int status = 0;  // the first that is not 0; only a GPU has any
  const Contender ours{"restride", [&](const Slot& s) {
                         const int now = plan->run(s.dst, s.src);
                         if (status == 0) status = now;
                       }};
  const Contender through_copy{"copy", [&](const Slot& s) {
                                 copy({s.dst, c.dst.layout}, ConstTensor{s.src, c.src.layout}, options);
                               }};
  if (settings.check) {
    for (const Contender* contender : {&ours, &through_copy}) {
      if (contender == &through_copy && !small) continue;
      if (const auto fault = check(*contender, c, device)) {
        out.error = "WRONG OUTPUT: " + *fault;
        return;
      }
    }
    out.checked = true;
  }

  std::vector<Peer> peers = settings.peers ? device.peers(c) : std::vector<Peer>{};
  std::erase_if(peers, [&](const Peer& peer) {
    if (peer.measures_itself) return false;
    try {
      const auto fault = check(peer, c, device);
      if (fault) out.peer_notes[peer.name] = "wrong output: " + *fault;
      return fault.has_value();
    } catch (const Error& e) {
      out.peer_notes[peer.name] = e.what();
      return true;
    }
  });

  const std::vector<Contender> ceilings = device.ceilings(ceiling_bytes);
  const Contender nothing = device.nothing();
  std::vector<Samples> all;
  all.reserve(ceilings.size() + peers.size() + 3);
  for (const Contender& contender : ceilings) all.push_back({&contender});
  all.push_back({&ours});
  if (small) all.push_back({&through_copy});
  if (small && nothing.run) all.push_back({&nothing});
  for (const Peer& peer : peers)
    if (!peer.measures_itself) all.push_back({&peer});
  time_all(all, device, small ? 3 * settings.reps : settings.reps, slots);
  device.finish();
  if (status != 0) throw DeviceError("running the plan failed with CUDA error " + std::to_string(status));

  std::map<std::string, double> peer_ns;
  for (const Samples& s : all) {
    const Timing timing = summarize(s.ns);
    const bool is_ceiling =
        !ceilings.empty() && s.contender >= ceilings.data() && s.contender < ceilings.data() + ceilings.size();
    if (is_ceiling && (out.ceiling.median_ns == 0 || timing.median_ns < out.ceiling.median_ns)) {
      out.ceiling = timing;
      out.ceiling_by = s.contender->name;
    }
    if (s.contender == &ours) out.time = timing;
    if (s.contender == &through_copy) out.copy_ns = timing.median_ns;
    if (s.contender == &nothing) out.floor_ns = timing.median_ns;
    if (!is_ceiling && s.contender != &ours && s.contender != &through_copy && s.contender != &nothing)
      peer_ns[s.contender->name] = timing.median_ns;
  }
  for (const Peer& peer : peers) {
    if (!peer.measures_itself) continue;
    const double ns = peer.time_itself_ns();
    if (ns > 0)
      peer_ns[peer.name] = ns;
    else
      out.peer_notes[peer.name] = "did not run, or its output was wrong";
  }
  for (const auto& [name, ns] : peer_ns) out.peers[name] = out.ceiling.median_ns / ns;
}

}  // namespace

CaseResult run_case(const Case& c, Device& device, const RunSettings& settings) {
  CaseResult out;
  out.name = c.spec.name;
  out.case_class = c.spec.case_class;
  out.src = to_string(c.src.layout);
  out.dst = to_string(c.dst.layout);
  out.device = name(device.kind());
  out.threads = device.options().threads;
  out.scaled = c.scaled;
  out.useful_bytes = c.src.useful_bytes + c.dst.useful_bytes;
  out.bytes = sector_bytes_touched(c.src.layout, device.sector_bytes()) + c.dst.useful_bytes;
  if (c.dst.layout.elements() == 0) {
    out.skipped = true;
    out.error = "an extent is 0, so there is nothing to time";
    return out;
  }
  try {
    measure(c, device, settings, out);
  } catch (const std::exception& e) {
    out.error = e.what();
  }
  return out;
}

}  // namespace restride::bench
