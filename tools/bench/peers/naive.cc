#include <algorithm>
#include <cstring>

#include "tools/bench/joint_modes.h"
#include "tools/bench/peers/peers.h"
#include "tools/bench/walk.h"

namespace restride::bench {
namespace {

/// The joint modes as a pair of layouts, outermost first; the case's own layouts where there are none.
std::pair<Layout, Layout> merged_layouts(const Case& c) {
  const auto modes = joint_modes(c);
  if (!modes) return {c.dst.layout, c.src.layout};
  Layout dst = c.dst.layout, src = c.src.layout;
  dst.modes = src.modes = Modes{};
  for (auto mode = modes->rbegin(); mode != modes->rend(); ++mode) {
    dst.modes.push_back({mode->extent, mode->dst_stride});
    src.modes.push_back({mode->extent, mode->src_stride});
  }
  return {dst, src};
}

template <class Word>
void copy_part(std::byte* dst, const Layout& to, const std::byte* src, const Layout& from, std::int64_t first,
               std::int64_t last) {
  walk(to, from, first, last, [&](std::int64_t d, std::int64_t ds, std::int64_t s, std::int64_t ss, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(dst + d + i * ds, src + s + i * ss, sizeof(Word));
  });
}

template <class Word>
Peer make(const Case& c, const Team& team) {
  Peer peer;
  peer.name = "naive";
  const auto [to, from] = merged_layouts(c);
  peer.run = [to = to, from = from, &team](const Slot& slot) {
    const std::int64_t elements = to.elements();
    const std::int64_t part = elements / team.size();
    if (elements < 1 << 16) return copy_part<Word>(slot.dst, to, slot.src, from, 0, elements);
    team.run([&](int t) {
      copy_part<Word>(slot.dst, to, slot.src, from, part * t, t + 1 == team.size() ? elements : part * (t + 1));
    });
  };
  return peer;
}

struct Bytes16 {
  std::uint64_t word[2];
};

}  // namespace

void add_naive_peer(std::vector<Peer>& out, const Case& c, const Team& team) {
  if (c.src.layout.element != c.dst.layout.element) return;
  switch (c.src.layout.element.size_bytes) {
    case 1: return out.push_back(make<std::uint8_t>(c, team));
    case 2: return out.push_back(make<std::uint16_t>(c, team));
    case 4: return out.push_back(make<std::uint32_t>(c, team));
    case 8: return out.push_back(make<std::uint64_t>(c, team));
    case 16: return out.push_back(make<Bytes16>(c, team));
    default: return;
  }
}

}  // namespace restride::bench
