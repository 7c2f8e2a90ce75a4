#include "tools/tune/clock.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "src/base/scratch.h"
#include "tools/bench/check.h"
#include "tools/bench/shipped.h"
#include "tools/bench/timing.h"

namespace restride::tune {
namespace {

constexpr int kRounds = 7;
constexpr std::int64_t kAlign = 256;
constexpr int kMostSlots = 64;
constexpr int kMostCalls = 1 << 10;
constexpr double kBatchShare = 0.25;  // of the time that a figure to be published is taken over

std::int64_t side_bytes(const bench::Case& c) { return std::max(c.src.buffer_bytes, c.dst.buffer_bytes); }

}  // namespace

std::vector<bench::Case> shipped_layouts(std::string_view of_class) {
  std::vector<bench::Case> out;
  for (const bench::CaseSpec& spec : bench::parse_case_file(*bench::shipped_cases("tune"), "tune.json").cases)
    if (spec.case_class == of_class) out.push_back(bench::build_case(spec));
  return out;
}

std::vector<layout::Canonical> canonical_forms(std::span<const bench::Case> cases, DeviceKind device) {
  const layout::UnitRule rule = device == DeviceKind::kCuda ? layout::UnitRule::kAligned : layout::UnitRule::kAnywhere;
  std::vector<layout::Canonical> out;
  out.reserve(cases.size());
  for (const bench::Case& c : cases)
    out.push_back(layout::canonicalize(c.dst.layout, c.src.layout, kAlign, kAlign, rule));
  return out;
}

DeviceClock::DeviceClock(std::unique_ptr<bench::Device> device, std::vector<bench::Case> cases, double seconds)
    : device_(std::move(device)), cases_(std::move(cases)), over_ns_(bench::now_ns() + seconds * 1e9) {
  std::int64_t most = 1, least = INT64_MAX;
  for (const bench::Case& c : cases_) {
    most = std::max(most, side_bytes(c));
    least = std::min(least, c.src.buffer_bytes + c.dst.buffer_bytes);
    plans_.push_back(api::make_plan(c.dst.layout, c.src.layout, device_->options(), kAlign, kAlign));
  }
  const std::int64_t cold = 2 * device_->cache_bytes();
  slots_ = static_cast<int>(std::clamp<std::int64_t>((cold + least - 1) / least, 2, kMostSlots));
  device_->reserve(most, slots_);
  bench::fill_random(device_->host_source(), 1);
  device_->publish_source();
}

double DeviceClock::time(std::size_t layout, const plan::Decision& decision) {
  const auto plan = api::with_decision(*plans_[layout], decision);
  const bench::Contender copy{"", [&](const bench::Slot& s) {
                                (void)api::run_plan(*plan, s.dst, s.src, nullptr, plan->threads, plan->stream);
                              }};
  check(layout, decision, copy);
  const bench::Contender plain = device_->ceilings(cases_[layout].src.useful_bytes, cases_[layout].dst.useful_bytes)
                                     .back();  // past the caches, where there is one
  int calls = 1;
  while (device_->time_ns(plain, slot_, calls) * calls < kBatchShare * device_->batch_ns() && calls < kMostCalls)
    calls *= 2;
  std::vector<double> quotients;
  for (int i = 0; i < kRounds; ++i) {
    const double of_plain = device_->time_ns(plain, slot_, calls);
    const double of_copy = device_->time_ns(copy, slot_ + calls, calls);
    slot_ += 2 * calls;
    quotients.push_back(of_copy / of_plain);
  }
  slot_ %= slots_;
  return bench::summarize(quotients).median_ns;
}

bool DeviceClock::is_over() { return bench::now_ns() >= over_ns_; }

void DeviceClock::check(std::size_t layout, const plan::Decision& decision, const bench::Contender& copy) {
  if (!right_.emplace(layout, text(decision)).second) return;
  device_->poison_destination();
  copy.run(device_->slot(0));
  const bench::Case& c = cases_[layout];
  const std::span<std::byte> found = device_->fetch_destination();
  const std::uint64_t hash = base::hash_bytes(0, found.data() + bench::kGuardBytes, c.dst.buffer_bytes);
  const auto [right, is_new] = written_.try_emplace(layout, hash);
  if (!is_new && right->second != hash)
    throw InternalError(fmt::format("two plans write different bytes for {}, one of them by '{}'; please report this",
                                    c.spec.name, decision.chosen.kernel.text));
}

}  // namespace restride::tune
