#include "tools/bench/runner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include <restride/restride.hpp>

#include "src/base/nearest.h"
#include "tools/bench/check.h"
#include "tools/bench/host_memory.h"
#include "tools/bench/source_fill.h"

namespace restride::bench {
namespace {

constexpr double kContenderNs = 3e9;  // a contender that took longer than this is done after three samples
constexpr int kLoadedSamples = 60;    // a rep: what counts is how single calls scatter
constexpr double kPlanningNs = 2e7;   // as long as this, planning is repeated: a virtual machine may stall for 2 ms
constexpr std::int64_t kBufferAlign = 256;  // cudaMalloc's; pages are more. A layout carries its own offset.

double time_planning(const Case& c, const Options& options) {
  std::vector<double> samples;
  double spent = 0;
  while (samples.size() < 5 || (spent < kPlanningNs && samples.size() < 2000)) {
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

/// What a contender's time is for.
enum class Role { kCeiling, kOurs, kCopy, kFloor, kPeer };

/// One contender's samples.
struct Samples {
  const Contender* contender = nullptr;
  Role role = Role::kOurs;
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

/// A thread of an OpenMP runtime that has nothing to do keeps its core for some milliseconds (GCC's: 7 to 8). So long
/// is waited before each turn, where peers have such threads: else the other contenders' would find no core.
constexpr double kThreadsAsleepNs = 12e6;
/// In memory that stays in the caches, the next one then runs so long untimed, until its threads are awake and cores
/// are at their pace again.
constexpr double kWarmUpNs = 5e5;

/// On its core, which does not fall asleep.
void wait_busily(double ns) {
  for (const double begin = now_ns(); now_ns() - begin < ns;) {
  }
}

/// Turn by turn, so that a change of the machine's pace meets all alike. Finding the number of calls warms up. Which
/// one is first is left to chance where single calls are timed: beside other programs a turn takes about as long as
/// Linux leaves a core to one of them, so that it would always be the same one that is interrupted.
void time_all(std::vector<Samples>& all, Device& device, int reps, int slots, bool single_calls, bool threads_sleep) {
  for (Samples& s : all) s.calls = single_calls ? 1 : calls_for(*s.contender, device);
  int slot = 0;
  std::minstd_rand chance(std::random_device{}());
  for (int rep = 0; rep < reps; ++rep) {
    const std::size_t first = single_calls ? chance() % all.size() : 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Samples& s = all[(first + i) % all.size()];
      if (s.ns.size() >= 3 && s.spent_ns > kContenderNs) continue;
      if (threads_sleep) wait_busily(kThreadsAsleepNs);
      // What the one before it wrote past the caches is no longer in them.
      if (slots == 1 && !single_calls)
        for (const double begin = now_ns();;) {
          (void)device.time_ns(*s.contender, slot, 1);
          if (!threads_sleep || now_ns() - begin > kWarmUpNs) break;
        }
      s.ns.push_back(device.time_ns(*s.contender, slot, s.calls));
      s.spent_ns += s.ns.back() * s.calls;
      slot = (slot + s.calls) % slots;
    }
  }
}

/// The case's plan, and what it says; or why there is none.
std::optional<Plan> plan_case(const Case& c, const Options& options, CaseResult& out) {
  try {
    Plan plan(c.dst.layout, c.src.layout, options, kBufferAlign, kBufferAlign);
    out.kernel = plan.kernel();
    out.plan_threads = plan.threads();
    out.plan_ns = time_planning(c, options);
    return plan;
  } catch (const Error& e) {
    out.skipped = !options.family.empty() && e.code() == ErrorCode::kInvalidArgument;
    out.error = e.what();
    return std::nullopt;
  }
}

/// The peers that get this case right; of the others, why not. Those that time themselves check themselves.
std::vector<Peer> right_peers(const Case& c, Device& device, const RunSettings& settings, CaseResult& out) {
  std::vector<Peer> peers = device.peers(c);
  std::erase_if(peers, [&](const Peer& peer) {
    if (!settings.asks_for(peer.name)) return true;
    if (peer.measures_itself()) return false;
    try {
      const auto fault = check(peer, c, device);
      if (fault) out.peer_notes[peer.name] = "wrong output: " + *fault;
      return fault.has_value();
    } catch (const Error& e) {
      out.peer_notes[peer.name] = e.what();
      return true;
    }
  });
  for (const std::string& name : settings.only_peers) {
    const auto is_it = [&](const auto& named) { return base::lower(named) == base::lower(name); };
    if (std::none_of(peers.begin(), peers.end(), [&](const Peer& p) { return is_it(p.name); }) &&
        std::none_of(out.peer_notes.begin(), out.peer_notes.end(), [&](const auto& note) { return is_it(note.first); }))
      out.peer_notes[name] = "does not do this case; numpy and torch take 1 MiB and more";
  }
  return peers;
}

/// Puts the times where they belong; peers' become ratios to the ceiling.
void take_times(const std::vector<Samples>& all, const std::vector<Peer>& peers, CaseResult& out) {
  std::map<std::string, double> peer_ns;
  for (const Samples& s : all) {
    const Timing timing = summarize(s.ns);
    switch (s.role) {
      case Role::kCeiling:
        if (out.ceiling.median_ns != 0 && timing.median_ns >= out.ceiling.median_ns) break;
        out.ceiling = timing;
        out.ceiling_by = s.contender->name;
        break;
      case Role::kOurs: out.time = timing; break;
      case Role::kCopy: out.copy_ns = timing.median_ns; break;
      case Role::kFloor: out.floor_ns = timing.median_ns; break;
      case Role::kPeer: peer_ns[s.contender->name] = timing.median_ns; break;
    }
  }
  for (const Peer& peer : peers) {
    if (!peer.measures_itself()) continue;
    const TimedItself timed = peer.time_itself();
    if (timed.ns > 0)
      peer_ns[peer.name] = timed.ns;
    else
      out.peer_notes[peer.name] = timed.why_none;
  }
  for (const auto& [name, ns] : peer_ns) out.peers[name] = out.ceiling.median_ns / ns;
}

void measure(const Case& c, Device& device, const RunSettings& settings, CaseResult& out) {
  Options options = device.options();
  options.family = settings.family;
  options.reshape = c.reshape;
  options.fresh_destination = settings.fresh_destination;
  const std::optional<Plan> plan = plan_case(c, options, out);
  if (!plan) return;

  const std::int64_t read_bytes = out.bytes - c.dst.useful_bytes;
  const std::int64_t side_bytes =
      std::max({c.src.buffer_bytes, c.dst.buffer_bytes, half_of(read_bytes, c.dst.useful_bytes)});
  const bool small = out.bytes <= kSmallBytes;
  const int slots = slots_for(c.src.buffer_bytes + c.dst.buffer_bytes, device, small);
  device.reserve(side_bytes, slots);
  fill_source(device.host_source(), c.spec, settings.seed, settings.peers);
  device.publish_source();

  int status = 0;  // the first that is not 0; only a GPU has any
  const Contender ours{"restride", [&](const Slot& s) {
                         const int now = plan->run(s.dst, s.src);
                         if (status == 0) status = now;
                       }};
  const Contender through_copy{"copy", [&](const Slot& s) {
                                 copy({s.dst, c.dst.layout}, ConstTensor{s.src, c.src.layout}, options);
                               }};
  for (const Contender* contender : {&ours, &through_copy}) {
    if (!settings.check || (contender == &through_copy && !small)) break;
    if (const auto fault = check(*contender, c, device)) {
      out.error = "WRONG OUTPUT: " + *fault;
      return;
    }
    out.checked = true;
  }

  const std::vector<Peer> peers = settings.peers ? right_peers(c, device, settings, out) : std::vector<Peer>{};
  std::vector<Contender> ceilings = device.ceilings(read_bytes, c.dst.useful_bytes);
  Options alone = options;
  alone.threads = 1;
  const Plan by_one(c.dst.layout, c.src.layout, settings.loaded ? alone : options, kBufferAlign, kBufferAlign);
  if (settings.loaded) ceilings = {{"one thread", [&](const Slot& s) { by_one.run(s.dst, s.src); }}};
  const Contender nothing = device.nothing();
  std::vector<Samples> all;
  all.reserve(ceilings.size() + peers.size() + 3);
  for (const Contender& contender : ceilings) all.push_back({&contender, Role::kCeiling});
  all.push_back({&ours, Role::kOurs});
  if (small && !settings.loaded) all.push_back({&through_copy, Role::kCopy});
  if (small && nothing.run) all.push_back({&nothing, Role::kFloor});
  for (const Peer& peer : peers)
    if (!peer.measures_itself()) all.push_back({&peer, Role::kPeer});
  const int reps = settings.loaded ? kLoadedSamples * settings.reps : small ? 3 * settings.reps : settings.reps;
  const bool peers_have_threads =
      device.kind() == DeviceKind::kCpu && options.threads != 1 &&
      std::any_of(peers.begin(), peers.end(), [](const Peer& p) { return !p.measures_itself(); });
  time_all(all, device, reps, slots, settings.loaded, peers_have_threads);
  device.finish();
  if (status != 0) throw DeviceError("running the plan failed with CUDA error " + std::to_string(status));
  take_times(all, peers, out);
}

}  // namespace

bool RunSettings::asks_for(const std::string& peer) const {
  return only_peers.empty() || std::any_of(only_peers.begin(), only_peers.end(), [&](const std::string& name) {
           return base::lower(name) == base::lower(peer);
         });
}

CaseResult run_case(const Case& c, Device& device, const RunSettings& settings) {
  CaseResult out;
  out.name = c.spec.name;
  out.case_class = c.spec.case_class;
  out.device = name(device.kind());
  out.threads = device.options().threads;
  out.loaded = settings.loaded;
  out.error = c.error;
  if (!c.error.empty()) return out;
  out.src = to_string(c.src.layout);
  out.dst = to_string(c.dst.layout);
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
  } catch (const MemoryError& e) {
    out.error = e.what() + ("; " + settings.less_memory);
  } catch (const std::exception& e) {
    out.error = e.what();
  }
  return out;
}

}  // namespace restride::bench
