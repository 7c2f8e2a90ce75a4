#include "lab/traffic.h"

#include <algorithm>

namespace restride::lab {
namespace {

constexpr int kSectorBytes = 32, kBanks = 32, kBankBytes = 4;

// Distinct values among the first `count`; reorders them.
template <std::size_t kCapacity>
int distinct(std::array<std::int64_t, kCapacity>& values, int count) {
  std::sort(values.begin(), values.begin() + count);
  return static_cast<int>(std::unique(values.begin(), values.begin() + count) - values.begin());
}

}  // namespace

int WarpAccess::sectors() const {
  std::array<std::int64_t, 64> touched{};  // an access of up to 32 bytes touches at most two
  int count = 0;
  for (int lane = 0; lane < lanes_; ++lane) {
    const std::int64_t first = byte_[lane] / kSectorBytes;
    const std::int64_t last = (byte_[lane] + bytes_ - 1) / kSectorBytes;
    for (std::int64_t s = first; s <= last; ++s) touched[count++] = s;
  }
  return distinct(touched, count);
}

int WarpAccess::wavefronts() const {
  int passes = 0;
  for (int begin = 0; begin < lanes_; begin += lanes_a_wavefront()) {
    const int end = std::min(lanes_, begin + lanes_a_wavefront());
    std::array<std::array<std::int64_t, 64>, kBanks> words{};
    std::array<int, kBanks> count{};
    for (int lane = begin; lane < end; ++lane) {
      const std::int64_t first = byte_[lane] / kBankBytes;
      const std::int64_t last = (byte_[lane] + bytes_ - 1) / kBankBytes;
      for (std::int64_t word = first; word <= last; ++word) words[word % kBanks][count[word % kBanks]++] = word;
    }
    int busiest = 0;
    for (int bank = 0; bank < kBanks; ++bank) busiest = std::max(busiest, distinct(words[bank], count[bank]));
    passes += busiest;
  }
  return passes;
}

int WarpAccess::least_wavefronts() const { return (lanes_ + lanes_a_wavefront() - 1) / lanes_a_wavefront(); }

void TrafficCounter::add_sectors(const WarpAccess& access) {
  if (access.lanes() == 0) return;
  ++requests_;
  sum_ += access.sectors();
}

void TrafficCounter::add_wavefronts(const WarpAccess& access) {
  if (access.lanes() == 0) return;
  ++requests_;
  sum_ += access.wavefronts();
  least_ += access.least_wavefronts();
}

std::optional<double> TrafficCounter::mean() const {
  if (requests_ == 0) return std::nullopt;
  return static_cast<double>(sum_) / static_cast<double>(requests_);
}

std::optional<double> TrafficCounter::degree() const {
  if (least_ == 0) return std::nullopt;
  return static_cast<double>(sum_) / static_cast<double>(least_);
}

}  // namespace restride::lab
