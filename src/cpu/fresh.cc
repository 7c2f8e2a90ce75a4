#include "src/cpu/fresh.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "src/base/checked.h"
#include "src/base/huge_pages.h"
#include "src/base/log.h"
#include "src/cpu/team/team.h"

namespace restride::cpu {
namespace {

/// Shorter stretches are left alone: a call for one costs what its page faults cost.
constexpr std::int64_t kLeastBytes = 64 << 10;
/// The pages that MADV_HUGEPAGE is about. Advice for less would make the kernel zero a whole one for a part of it.
constexpr std::uintptr_t kHugeBytes = 2 << 20;
/// Smaller destinations are not looked at: looking takes a microsecond.
constexpr double kLeastLooked = 4 << 20;
/// A task of populating: two huge pages, so that none is asked for by two threads.
constexpr std::int64_t kTaskBytes = 4 << 20;

#if defined(__linux__) && defined(MADV_HUGEPAGE)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

/// Tells of a request that came to nothing, by its errno, or 0 where huge pages are turned off. The copy goes on
/// without. Once: every later copy meets the same.
void log_refused(int advice, std::uintptr_t bytes, int error) noexcept {
  static constinit std::atomic<bool> said_huge{false}, said_populate{false};
  const bool huge = advice == MADV_HUGEPAGE;
  if (!base::log_is_on() || (huge ? said_huge : said_populate).exchange(true)) return;
  const char* const why = error != 0 ? std::strerror(error) : "they are turned off";
  if (huge)
    base::log(
        "{} KiB of a destination have no huge pages ({}); allow them in {}, or set Options::fresh_destination to off",
        bytes >> 10, why, base::kHugePagesSetting);
  else
    base::log(
        "{} KiB of a destination did not get their pages before the copy (MADV_POPULATE_WRITE: {}); it takes Linux "
        "5.14, mapped memory that may be written, and enough of it; or set Options::fresh_destination to off",
        bytes >> 10, why);
}

/// Whole pages of one stretch, in tasks.
struct Request {
  std::byte* data;
  const Stretches& s;
  std::int64_t page_bytes;
  std::int64_t tasks_each;
  int advice;
  bool wanted;  ///< by the caller: a refusal is told

  void ask(std::byte* begin, std::uintptr_t bytes) const noexcept {
    if (::madvise(begin, bytes, advice) != 0 && wanted) log_refused(advice, bytes, errno);
  }

  void run(int task) const noexcept {
    std::int64_t offset = s.first, point = task / tasks_each;
    for (const layout::CopyMode& m : s.modes) {
      offset += point % m.extent * m.dst_stride;
      point /= m.extent;
    }
    std::byte* const stretch = moved(data, offset);
    const auto base = reinterpret_cast<std::uintptr_t>(stretch);
    const auto small = static_cast<std::uintptr_t>(page_bytes);
    const std::uintptr_t page = advice == MADV_HUGEPAGE ? kHugeBytes : small;
    const std::uintptr_t first = (base + page - 1) / page * page;
    const std::uintptr_t last = (base + static_cast<std::uintptr_t>(s.bytes)) / page * page;
    // Tasks end where kTaskBytes divides the address.
    const auto size = static_cast<std::uintptr_t>(kTaskBytes);
    const std::uintptr_t grid = first / size * size;
    const auto i = static_cast<std::uintptr_t>(task % tasks_each);
    const std::uintptr_t begin = tasks_each == 1 ? first : std::max(first, grid + i * size);
    const std::uintptr_t end = tasks_each == 1 ? last : std::min(last, grid + (i + 1) * size);
    if (begin >= end) return;
    std::byte* const pages = stretch + (begin - base);
    // A huge page comes with any of its small ones, and Linux zeroes the one that was asked for last. If that is the
    // last one, all are zeroed upwards, two to three times as fast as downwards.
    if (advice == MADV_POPULATE_WRITE)
      for (std::uintptr_t last_of = (begin + kHugeBytes - 1) / kHugeBytes * kHugeBytes + kHugeBytes - small;
           last_of < end; last_of += kHugeBytes)
        ask(pages + (last_of - begin), small);
    ask(pages, end - begin);
  }
  static void body(void* self, int task) { static_cast<const Request*>(self)->run(task); }
};
#endif

}  // namespace

Stretches stretches_of(const layout::Canonical& c, std::int64_t page_bytes) {
  Stretches s;
  s.first = c.dst_offset;
  s.bytes = c.dst_unit;
  for (layout::CopyMode m : c.modes) {
    if (m.dst_stride < 0) {  // of shapes without a common refinement
      s.first += (m.extent - 1) * m.dst_stride;
      m.dst_stride = -m.dst_stride;
    }
    s.modes.push_back(m);
  }
  std::sort(s.modes.begin(), s.modes.end(),
            [](const layout::CopyMode& a, const layout::CopyMode& b) { return a.dst_stride < b.dst_stride; });
  while (!s.modes.empty() && s.modes[0].dst_stride - s.bytes < page_bytes) {
    s.bytes += (s.modes[0].extent - 1) * s.modes[0].dst_stride;
    s.modes.erase(0);
  }
  for (const layout::CopyMode& m : s.modes) s.count *= m.extent;
  return s;
}

bool has_no_pages(const void* dst_data, const Layout& dst) noexcept {
#if defined(__linux__)
  // Before any check: whatever the layout says, nothing overflows.
  auto bytes = static_cast<double>(dst.element.size_bytes);
  auto middle = reinterpret_cast<std::uint64_t>(dst_data) + static_cast<std::uint64_t>(dst.offset_bytes);
  for (const Mode& m : dst.modes) {
    bytes *= static_cast<double>(m.extent);
    middle += static_cast<std::uint64_t>(m.extent / 2) * static_cast<std::uint64_t>(m.stride_bytes);
  }
  if (bytes < kLeastLooked) return false;
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  unsigned char there = 1;
  const int error = errno;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is asked about, and never followed
  const int status = ::mincore(reinterpret_cast<void*>(middle / page_bytes * page_bytes), page_bytes, &there);
  errno = error;
  return status == 0 && (there & 1) == 0;
#else
  (void)dst_data, (void)dst;
  return false;
#endif
}

// NOLINTNEXTLINE(bugprone-exception-escape): there is room for as many modes as there were
void prepare_fresh(void* dst_data, const Layout& dst, const layout::Canonical& c, FreshDestination said,
                   const Executor* executor, int threads) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (c.units == 0) return;
  static const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  const Stretches s = stretches_of(c, page_bytes);
  if (s.bytes < kLeastBytes || s.count > INT_MAX) return;
  const int error = errno;  // what a copy leaves it at is none of its caller's business
  const bool wanted = said != FreshDestination::kOff;
  Request request{static_cast<std::byte*>(dst_data), s, page_bytes, 1, MADV_HUGEPAGE, wanted};
  if (wanted) {
    for (int i = 0; i < s.count; ++i) request.run(i);
    if (base::log_is_on() && base::huge_pages_are_off())
      log_refused(MADV_HUGEPAGE, static_cast<std::uintptr_t>(s.bytes), 0);
  }
  request.advice = MADV_POPULATE_WRITE;
  request.tasks_each = s.bytes / kTaskBytes + 2;  // it may begin and end inside one
  if (request.tasks_each <= INT_MAX / s.count && (said != FreshDestination::kAdvise || has_no_pages(dst_data, dst)))
    run_tasks(executor, threads, static_cast<int>(request.tasks_each * s.count), Request::body, &request);
  errno = error;
#else
  (void)dst_data, (void)dst, (void)c, (void)said, (void)executor, (void)threads;
#endif
}

}  // namespace restride::cpu
