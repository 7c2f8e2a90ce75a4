// From parts to layouts of their pieces, to restride plans.
#include "src/distributed/program.h"

#include <algorithm>
#include <utility>

#include <restride/detail/ranks.hpp>

#include "src/base/checked.h"

namespace restride::distributed {
namespace {

using Chosen = std::vector<const AxisPiece*>;

/// Calls f(pieces) for every choice of one piece an axis, in the order that both ranks of a pair follow.
template <class F>
void for_each_piece(const Part& part, const F& f) {
  const std::size_t rank = part.axes.size();
  std::vector<std::size_t> at(rank, 0);
  Chosen chosen(rank);
  for (std::size_t a = 0; a < rank; ++a) chosen[a] = &part.axes[a][0];
  for (;;) {
    f(chosen);
    std::size_t a = rank;
    while (a > 0 && ++at[a - 1] == part.axes[a - 1].size()) {
      at[--a] = 0;
      chosen[a] = &part.axes[a][0];
    }
    if (a == 0) return;
    chosen[a - 1] = &part.axes[a - 1][at[a - 1]];
  }
}

/// A piece in local memory: up to two modes an axis, axes in `order`; its offset is that of its first element.
Layout view(const Layout& local, const Chosen& pieces, const std::vector<int>& order, std::int64_t AxisPiece::*first,
            std::int64_t AxisPiece::*step) {
  Layout out;
  out.element = local.element;
  out.offset_bytes = local.offset_bytes;
  for (int axis : order) {
    const AxisPiece& p = *pieces[static_cast<std::size_t>(axis)];
    const std::int64_t stride = local.modes[static_cast<std::size_t>(axis)].stride_bytes;
    out.offset_bytes += p.*first * stride;
    if (p.count > 1) out.modes.push_back({p.count, p.*step * stride});
    if (p.length > 1) out.modes.push_back({p.length, stride});
  }
  return out;
}

Layout src_view(const Layout& local, const Chosen& pieces, const std::vector<int>& order) {
  return view(local, pieces, order, &AxisPiece::src_first, &AxisPiece::src_step);
}

Layout dst_view(const Layout& local, const Chosen& pieces, const std::vector<int>& order) {
  return view(local, pieces, order, &AxisPiece::dst_first, &AxisPiece::dst_step);
}

/// Dense, with the extents of `like`.
Layout dense(Element element, const Layout& like) {
  Layout out = like;
  out.element = element;
  out.offset_bytes = 0;
  std::int64_t stride = element.size_bytes;
  for (std::size_t i = out.modes.size(); i-- > 0;) {
    out.modes[i].stride_bytes = stride;
    stride *= out.modes[i].extent;
  }
  return out;
}

/// Calls f(part) for parts of `piece` of at most `most` elements, in order: slices of its outermost modes.
template <class F>
void for_each_slice(Layout piece, std::int64_t most, const F& f) {
  const std::int64_t elements = piece.elements();
  if (elements <= most || piece.modes.empty()) return f(piece);
  const Mode outer = piece.modes.front();
  const std::int64_t at_once = std::max<std::int64_t>(1, most / (elements / outer.extent));
  const std::int64_t offset = piece.offset_bytes;
  if (at_once == 1) piece.modes.erase(0);
  for (std::int64_t i = 0; i < outer.extent; i += at_once) {
    piece.offset_bytes = offset + i * outer.stride_bytes;
    if (at_once > 1) piece.modes.front().extent = std::min(at_once, outer.extent - i);
    for_each_slice(piece, most, f);
  }
}

}  // namespace

std::vector<PeerSteps> parcels_of(const PeerSteps& message, bool sent, std::int64_t most_bytes) {
  std::vector<PeerSteps> out;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < message.steps.size(); ++i) {
    CopyStep step = message.steps[i];
    std::int64_t& at = sent ? step.dst_offset : step.src_offset;
    if (out.empty() || out.back().bytes + step.message_bytes > most_bytes) {
      begin = at;
      PeerSteps& parcel = out.emplace_back();
      parcel.peer = message.peer;
      parcel.in_place = message.in_place;
      parcel.in_place_offset = message.in_place_offset + begin;
    }
    at -= begin;
    out.back().bytes += step.message_bytes;
    out.back().steps.push_back(step);
  }
  return out;
}

int PlanStore::add(const Layout& dst, const Layout& src) {
  std::vector<std::int64_t> key{static_cast<std::int64_t>(dst.element.dtype), dst.element.size_bytes,
                                static_cast<std::int64_t>(src.element.dtype), src.element.size_bytes};
  for (std::size_t i = 0; i < dst.modes.size(); ++i) {
    key.push_back(dst.modes[i].extent);
    key.push_back(dst.modes[i].stride_bytes);
    key.push_back(src.modes[i].stride_bytes);
  }
  const Promise promise = promise_for(dst.offset_bytes, src.offset_bytes);
  key.push_back(promise.dst);
  key.push_back(promise.src);
  const auto [at, is_new] = by_layouts_.try_emplace(std::move(key), static_cast<int>(plans_.size()));
  if (is_new) {
    Layout to = dst, from = src;
    to.offset_bytes = from.offset_bytes = 0;
    plans_.emplace_back(to, from, options_, promise.dst, promise.src);
    promises_.push_back(promise);
  }
  return at->second;
}

PlanStore::Promise PlanStore::promise_for(std::int64_t dst_address, std::int64_t src_address) const {
  if (options_.device != DeviceKind::kCuda) return {};  // of no account there
  constexpr std::int64_t kMost = 128;                   // more is promised to no plan
  return {power_of_two_divisor(dst_address, kMost), power_of_two_divisor(src_address, kMost)};
}

void PlanStore::enqueue(int plan, std::byte* dst, const std::byte* src, void* stream) {
  restride::Options options = options_;
  options.stream = stream;
  const restride::Plan& planned = plans_[static_cast<std::size_t>(plan)];
  const Promise &promised = promises_[static_cast<std::size_t>(plan)],
                kept = promise_for(reinterpret_cast<std::intptr_t>(dst), reinterpret_cast<std::intptr_t>(src));
  const restride::Plan* run = &planned;
  if (kept.dst < promised.dst || kept.src < promised.src) {
    restride::Plan& other = less_aligned_[{plan, kept}];
    if (!other) other = restride::Plan(planned.dst(), planned.src(), options_, kept.dst, kept.src);
    run = &other;
  }
  detail::require_launched(run->run(dst, src, options), planned.cuda_device());
}

void StepMaker::straight(const PairParts& pair, const std::vector<Layout>& src, const std::vector<Layout>& dst,
                         std::vector<CopyStep>& out) {
  for (const Part& part : pair.parts)
    for_each_piece(part, [&](const Chosen& pieces) {
      const Layout from = src_view(src[static_cast<std::size_t>(part.src_region)], pieces, x_.dst_order);
      const Layout to = dst_view(dst[static_cast<std::size_t>(part.dst_region)], pieces, x_.dst_order);
      out.push_back({plans_.add(to, from), tensor_, to.offset_bytes, from.offset_bytes, 0});
    });
}

void StepMaker::pack(const PairParts& pair, const std::vector<Layout>& src, PeerSteps& out) {
  if (!out.steps.empty()) out.in_place = -1;  // another tensor stands before
  const bool alone = out.bytes == 0 && out.steps.empty() && pair.parts.size() == 1;
  for (const Part& part : pair.parts)
    for_each_piece(part, [&](const Chosen& pieces) {
      const Layout all = src_view(src[static_cast<std::size_t>(part.src_region)], pieces, x_.dst_order);
      if (alone && all.elements() == part.elements && all.element == x_.wire && is_contiguous(all)) {
        out.in_place = tensor_;
        out.in_place_offset = all.offset_bytes;
      }
      for_each_slice(all, most_bytes_ / x_.wire.size_bytes, [&](const Layout& from) {
        const Layout to = dense(x_.wire, from);
        out.steps.push_back({plans_.add(to, from), tensor_, out.bytes, from.offset_bytes, to.bytes()});
        out.bytes += to.bytes();
      });
      out.pieces.push_back(all);
    });
}

void StepMaker::unpack(const PairParts& pair, const std::vector<Layout>& dst, PeerSteps& out) {
  if (!out.steps.empty()) out.in_place = -1;  // another tensor stands before
  const bool alone = out.bytes == 0 && out.steps.empty() && pair.parts.size() == 1;
  for (const Part& part : pair.parts)
    for_each_piece(part, [&](const Chosen& pieces) {
      const Layout all = dst_view(dst[static_cast<std::size_t>(part.dst_region)], pieces, x_.dst_order);
      if (alone && all.elements() == part.elements && all.element == x_.wire && is_contiguous(all)) {
        out.in_place = tensor_;
        out.in_place_offset = all.offset_bytes;
      }
      for_each_slice(all, most_bytes_ / x_.wire.size_bytes, [&](const Layout& to) {
        const Layout from = dense(x_.wire, to);
        out.steps.push_back({plans_.add(to, from), tensor_, to.offset_bytes, out.bytes, from.bytes()});
        out.bytes += from.bytes();
      });
      out.pieces.push_back(all);
    });
}

}  // namespace restride::distributed
