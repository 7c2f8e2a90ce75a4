// The CPU as a benchmark device: pages of one kind, rotation through more than the last-level cache, wall-clock time.
#pragma once

#include "tools/bench/device.h"
#include "tools/bench/team.h"

namespace restride::bench {

class CpuDevice final : public Device {
 public:
  /// With fresh memory the ceiling is memcpy into as many bytes of such memory, from as many as there are to read.
  explicit CpuDevice(int threads, Pages pages = Pages::kSmall, Memory memory = Memory::kCold);

  DeviceKind kind() const override { return DeviceKind::kCpu; }
  nlohmann::json describe() const override;
  std::int64_t cache_bytes() const override { return cache_bytes_; }
  std::int64_t sector_bytes() const override { return 64; }
  double batch_ns() const override { return 200e3; }
  Options options() const override;
  void reserve(std::int64_t side_bytes, int slots) override;
  Slot slot(int index) override;
  std::span<std::byte> host_source() override;
  void publish_source() override;
  void poison_destination() override;
  std::span<std::byte> fetch_destination() override;
  void finish() override {}
  double time_ns(const Contender& contender, int first_slot, int calls) override;
  std::vector<Contender> ceilings(std::int64_t read_bytes, std::int64_t written_bytes) override;
  std::vector<Peer> peers(const Case& c) override;
  std::vector<std::string> peer_names() const override;

 private:
  Team team_;
  Pages pages_;
  bool fresh_;
  std::int64_t cache_bytes_;
  HostMemory src_, dst_;
  std::int64_t side_bytes_ = 0;   ///< room for elements on a side
  std::int64_t pitch_bytes_ = 0;  ///< from slot to slot
  int slots_ = 0;
};

}  // namespace restride::bench
