#include "tools/bench/cpu_device.h"

#include <algorithm>
#include <cstring>

#include <nlohmann/json.hpp>

#include "tools/bench/check.h"
#include "tools/bench/machine.h"
#include "tools/bench/plain_copy.h"
#include "tools/bench/timing.h"
#include "tools/machine.h"

namespace restride::bench {
namespace {

constexpr std::int64_t kPageBytes = 4096;
// Work below this is not worth a second thread: waking one costs what copying it costs.
constexpr std::int64_t kThreadBytes = 1 << 20;

using Copy = void (*)(void*, const void*, std::int64_t);

void copy_memcpy(void* dst, const void* src, std::int64_t bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}
/// All of dst is written by memcpy and all of src is read: a shorter src again and again, the rest of a longer one into
/// a page that stays in the cache.
void copy_unequal(std::span<std::byte> dst, std::span<const std::byte> src) {
  if (src.empty()) return;
  std::size_t at = 0;
  for (std::size_t n = 0; at < dst.size(); at += n) {
    n = std::min(src.size(), dst.size() - at);
    std::memcpy(dst.data() + at, src.data(), n);
  }
  std::byte page[kPageBytes];
  for (std::size_t n = 0; at < src.size(); at += n) {
    n = std::min(sizeof page, src.size() - at);
    std::memcpy(page, src.data() + at, n);
    asm volatile("" ::"r"(page) : "memory");  // though nobody reads it
  }
}
void copy_stream(void* dst, const void* src, std::int64_t bytes) { copy_streaming(dst, src, bytes); }

}  // namespace

CpuDevice::CpuDevice(int threads, Pages pages, Memory memory)
    : team_(threads),
      pages_(pages),
      fresh_(memory == Memory::kFresh),
      cache_bytes_(memory == Memory::kWarm ? 0 : tools::last_level_cache_bytes()),
      src_(pages),
      dst_(pages) {}

nlohmann::json CpuDevice::describe() const {
  nlohmann::json out = describe_cpu();
  out["huge_pages"] = pages_ == Pages::kHuge ? "asked for (madvise)" : "declined (madvise)";
  out["streaming_copy"] = streaming_isa();
  return out;
}

Options CpuDevice::options() const {
  Options out;
  out.device = DeviceKind::kCpu;
  out.threads = team_.size();
  return out;
}

void CpuDevice::reserve(std::int64_t side_bytes, int slots) {
  side_bytes_ = side_bytes;
  slots_ = slots;
  // Room for the guards, and an end on a page, so that every slot starts on one as a fresh allocation does.
  pitch_bytes_ = (side_bytes + 2 * kGuardBytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  src_.reserve(pitch_bytes_ * slots);
  dst_.reserve(pitch_bytes_ * slots);
}

Slot CpuDevice::slot(int index) {
  const std::int64_t at = (index % slots_) * pitch_bytes_ + kGuardBytes;
  return {src_.data() + at, dst_.data() + at};
}

std::span<std::byte> CpuDevice::host_source() { return {slot(0).src, static_cast<std::size_t>(side_bytes_)}; }

void CpuDevice::publish_source() {
  for (int s = 1; s < slots_; ++s) std::memcpy(slot(s).src, slot(0).src, static_cast<std::size_t>(side_bytes_));
}

void CpuDevice::poison_destination() {
  const std::span<std::byte> all = fetch_destination();
  std::memset(all.data(), static_cast<int>(kPoison), all.size());
}

std::span<std::byte> CpuDevice::fetch_destination() {
  return {slot(0).dst - kGuardBytes, static_cast<std::size_t>(side_bytes_ + 2 * kGuardBytes)};
}

double CpuDevice::time_ns(const Contender& contender, int first_slot, int calls) {
  if (fresh_) {
    double spent = 0;
    for (int i = 0; i < calls; ++i) {
      const Slot at = slot(first_slot + i);
      dst_.forget(at.dst, side_bytes_);
      const double start = now_ns();
      contender.run(at);
      spent += now_ns() - start;
    }
    return spent / calls;
  }
  const double start = now_ns();
  for (int i = 0; i < calls; ++i) contender.run(slot(first_slot + i));
  return (now_ns() - start) / calls;
}

std::vector<Contender> CpuDevice::ceilings(std::int64_t read_bytes, std::int64_t written_bytes) {
  if (fresh_) {
    // What counts is how many pages there are to be had.
    return {{"memcpy", [this, read_bytes, written_bytes](const Slot& slot) {
               const bool alone = read_bytes + written_bytes < 2 * kThreadBytes;
               const auto share = [&](std::int64_t bytes, int t) {
                 return t == team_.size() ? bytes : bytes / team_.size() / kPageBytes * kPageBytes * t;
               };
               const auto part = [&](int t) {
                 copy_unequal({slot.dst + share(written_bytes, t), slot.dst + share(written_bytes, t + 1)},
                              {slot.src + share(read_bytes, t), slot.src + share(read_bytes, t + 1)});
               };
               if (alone)
                 copy_unequal({slot.dst, slot.dst + written_bytes}, {slot.src, slot.src + read_bytes});
               else
                 team_.run(part);
             }}};
  }
  const std::int64_t bytes = half_of(read_bytes, written_bytes);
  const auto split = [this, bytes](Copy copy) {
    return [this, bytes, copy](const Slot& slot) {
      if (bytes < kThreadBytes) return copy(slot.dst, slot.src, bytes);
      // Whole pages a thread; the last one takes the rest.
      const std::int64_t part = bytes / team_.size() / kPageBytes * kPageBytes;
      team_.run([&](int t) {
        const std::int64_t first = part * t;
        copy(slot.dst + first, slot.src + first, t + 1 == team_.size() ? bytes - first : part);
      });
    };
  };
  std::vector<Contender> out{{"memcpy", split(copy_memcpy)}};
  if (has_streaming_copy() && bytes >= kThreadBytes) out.push_back({"streaming", split(copy_stream)});
  return out;
}

std::unique_ptr<Device> make_cpu_device(int threads, Pages pages, Memory memory) {
  return std::make_unique<CpuDevice>(threads, pages, memory);
}

}  // namespace restride::bench
