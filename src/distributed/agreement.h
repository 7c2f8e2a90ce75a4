// Whether all ranks mean the same: 64 bytes a rank, compared before dst is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <restride/distributed.hpp>

#include "src/distributed/named_ranks.h"

namespace restride::distributed {

enum class CallKind : std::uint16_t { kPlan = 1, kRun = 2 };

/// What a rank is about to do. Hashes are of texts, so that unlike ranks differ in one member at least.
struct Fingerprint {
  std::uint32_t magic = 0x52445354;
  CallKind kind = CallKind::kPlan;
  std::uint16_t status = 0;    ///< an ErrorCode when this rank cannot take part; then the rest has no meaning
  std::uint32_t sequence = 0;  ///< of the plan among the communicator's
  std::uint32_t run = 0;       ///< of the plan's runs
  std::uint64_t version = 0, shapes = 0, elements = 0, sources = 0, targets = 0, options = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
static_assert(sizeof(Fingerprint) == 64);

/// Waits end: what a caller gives is cut to this, so that clocks do not overflow.
inline constexpr std::chrono::milliseconds kLongestDeadline = std::chrono::hours(24 * 36500);

/// FNV-1a.
std::uint64_t hash_of(std::string_view text) noexcept;

/// Throws AgreementError, the same on all ranks with status 0, unless all fingerprints are equal and no rank has a
/// status.
void require_agreement(const std::vector<Fingerprint>& all);

}  // namespace restride::distributed
