#include "tools/bench/check.h"

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tools/bench/host_memory.h"
#include "tools/bench/reference_cast.h"
#include "tools/bench/walk.h"

namespace restride::bench {
namespace {

/// Converts one element; sources of one and two bytes are looked up in a table that is made once a check.
class Caster {
 public:
  Caster(DType dst, DType src) : dst_(dst), src_(src) {
    const std::int64_t width = size_bytes(src);
    if (width > 2) return;
    table_.resize(static_cast<std::size_t>(size_bytes(dst)) << (8 * width));
    for (std::uint32_t bits = 0; bits < 1u << (8 * width); ++bits) {
      const auto value = static_cast<std::uint16_t>(bits);
      std::byte in[2];
      std::memcpy(in, &value, 2);
      reference_cast(table_.data() + bits * size_bytes(dst), dst, in, src);
    }
  }

  bool right(const std::byte* dst, const std::byte* src) const {
    std::byte expected[16];
    if (table_.empty()) {
      reference_cast(expected, dst_, src, src_);
      return same_value(dst, expected, dst_);
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, src, static_cast<std::size_t>(size_bytes(src_)));
    return same_value(dst, table_.data() + bits * size_bytes(dst_), dst_);
  }

 private:
  DType dst_, src_;
  std::vector<std::byte> table_;
};

/// First element in [first, last) that is wrong, or -1. Poisons what it has looked at. Size 0: any size.
template <std::size_t Size>
std::int64_t first_wrong(std::byte* dst, const Layout& dst_layout, const std::byte* src, const Layout& src_layout,
                         std::int64_t first, std::int64_t last) {
  const std::size_t size = Size != 0 ? Size : static_cast<std::size_t>(dst_layout.element.size_bytes);
  std::int64_t wrong = -1, at = first;
  walk(dst_layout, src_layout, first, last,
       [&](std::int64_t d, std::int64_t ds, std::int64_t s, std::int64_t ss, std::int64_t n) {
         for (std::int64_t i = 0; i < n; ++i, ++at) {
           std::byte* out = dst + d + i * ds;
           if (std::memcmp(out, src + s + i * ss, size) != 0 && wrong < 0) wrong = at;
           std::memset(out, static_cast<int>(kPoison), size);
         }
       });
  return wrong;
}

std::int64_t first_wrong_cast(std::byte* dst, const Layout& dst_layout, const std::byte* src, const Layout& src_layout,
                              std::int64_t first, std::int64_t last, const Caster& caster) {
  std::int64_t wrong = -1, at = first;
  const auto size = static_cast<std::size_t>(dst_layout.element.size_bytes);
  walk(dst_layout, src_layout, first, last,
       [&](std::int64_t d, std::int64_t ds, std::int64_t s, std::int64_t ss, std::int64_t n) {
         for (std::int64_t i = 0; i < n; ++i, ++at) {
           std::byte* out = dst + d + i * ds;
           if (!caster.right(out, src + s + i * ss) && wrong < 0) wrong = at;
           std::memset(out, static_cast<int>(kPoison), size);
         }
       });
  return wrong;
}

}  // namespace

std::optional<std::string> find_fault(std::byte* dst, const Layout& dst_layout, const std::byte* src,
                                      const Layout& src_layout, std::span<std::byte> guarded) {
  const std::int64_t elements = dst_layout.elements();
  const bool cast = dst_layout.element != src_layout.element;
  std::optional<Caster> caster;
  if (cast) caster.emplace(dst_layout.element.dtype, src_layout.element.dtype);

  const auto check_part = [&](std::int64_t first, std::int64_t last) {
    if (cast) return first_wrong_cast(dst, dst_layout, src, src_layout, first, last, *caster);
    switch (dst_layout.element.size_bytes) {
      case 1: return first_wrong<1>(dst, dst_layout, src, src_layout, first, last);
      case 2: return first_wrong<2>(dst, dst_layout, src, src_layout, first, last);
      case 4: return first_wrong<4>(dst, dst_layout, src, src_layout, first, last);
      case 8: return first_wrong<8>(dst, dst_layout, src, src_layout, first, last);
      case 16: return first_wrong<16>(dst, dst_layout, src, src_layout, first, last);
      default: return first_wrong<0>(dst, dst_layout, src, src_layout, first, last);
    }
  };

  const std::int64_t most = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t parts = std::clamp<std::int64_t>(elements / 65536, 1, most);
  std::vector<std::int64_t> wrong(static_cast<std::size_t>(parts), -1);
  std::vector<std::thread> threads;
  for (std::int64_t p = 1; p < parts; ++p)
    threads.emplace_back([&, p] {
      wrong[p] = check_part(elements / parts * p, p + 1 == parts ? elements : elements / parts * (p + 1));
    });
  wrong[0] = check_part(0, parts == 1 ? elements : elements / parts);
  for (std::thread& thread : threads) thread.join();

  for (const std::int64_t at : wrong)
    if (at >= 0) return fmt::format("element {} of {} (C order) is wrong", at, elements);
  if (!all_poison(guarded)) return "bytes outside the destination's elements were written";
  return std::nullopt;
}

}  // namespace restride::bench
