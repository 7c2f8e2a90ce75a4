// The clock of `restride tune` on this machine's processor or GPU, and what it times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/api/plan_impl.h"
#include "tools/bench/case.h"
#include "tools/bench/device.h"
#include "tools/tune/fit.h"

namespace restride::tune {

/// The layouts of bench/cases/tune.json of this class: "fit" or "check", for GPUs "gpu_fit" and "gpu_check".
std::vector<bench::Case> shipped_layouts(std::string_view of_class);

/// What planning for this device sees of them.
std::vector<layout::Canonical> canonical_forms(std::span<const bench::Case> cases, DeviceKind device);

/// Copies through memory that no cache holds (of a processor in 4 KiB pages), in turns with the best plain copy; the
/// median of the quotients counts, so neither a machine that slows down nor a neighbour who comes and goes counts for
/// much.
class DeviceClock final : public Clock {
 public:
  /// `seconds` from now on it is over. Errors: MemoryError, DeviceError.
  DeviceClock(std::unique_ptr<bench::Device> device, std::vector<bench::Case> cases, double seconds);

  /// Errors: InternalError where two plans of a layout write different bytes: a fast wrong kernel must not win.
  double time(std::size_t layout, const plan::Decision& decision) override;
  bool is_over() override;

 private:
  void check(std::size_t layout, const plan::Decision& decision, const bench::Contender& copy);

  std::unique_ptr<bench::Device> device_;
  std::vector<bench::Case> cases_;
  std::vector<std::shared_ptr<Plan::Impl>> plans_;
  std::map<std::size_t, std::uint64_t> written_;         ///< by layout: a hash of what is right
  std::set<std::pair<std::size_t, std::string>> right_;  ///< plans of layouts that wrote it
  double over_ns_;
  int slots_ = 1;
  int slot_ = 0;
};

}  // namespace restride::tune
