#include <memory>

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "tools/bench/joint_modes.h"
#include "tools/bench/peers/module.h"

namespace restride::bench {
namespace {

using dnnl::memory;

std::optional<memory::data_type> data_type(DType t) {
  switch (t) {
    case DType::kF32: return memory::data_type::f32;
    case DType::kBF16: return memory::data_type::bf16;
    case DType::kF16: return memory::data_type::f16;
    case DType::kI32: return memory::data_type::s32;
    case DType::kI8: return memory::data_type::s8;
    case DType::kU8: return memory::data_type::u8;
    default: return std::nullopt;
  }
}

/// What a run needs, made once.
struct Reorder {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  memory src, dst;
  dnnl::reorder reorder;

  Reorder(const memory::desc& from, const memory::desc& to)
      : src(from, engine, nullptr), dst(to, engine, nullptr), reorder(src, dst) {}
};

}  // namespace

void add_onednn_peer(std::vector<Peer>& out, const Case& c, int threads) {
  const auto modes = joint_modes(c);
  const auto src_type = data_type(c.src.layout.element.dtype), dst_type = data_type(c.dst.layout.element.dtype);
  if (!modes || modes->empty() || modes->size() > DNNL_MAX_NDIMS || !src_type || !dst_type) return;
  memory::dims extents, src_strides, dst_strides;
  for (auto mode = modes->rbegin(); mode != modes->rend(); ++mode) {
    const std::int64_t from = c.src.layout.element.size_bytes, to = c.dst.layout.element.size_bytes;
    if (mode->src_stride <= 0 || mode->src_stride % from != 0 || mode->dst_stride % to != 0) return;
    extents.push_back(mode->extent);
    src_strides.push_back(mode->src_stride / from);
    dst_strides.push_back(mode->dst_stride / to);
  }
  try {
    omp_set_num_threads(threads);  // the reorder is cut for so many threads when it is made
    const auto work = std::make_shared<Reorder>(memory::desc(extents, *src_type, src_strides),
                                                memory::desc(extents, *dst_type, dst_strides));
    Peer peer;
    peer.name = "oneDNN";
    peer.run = [work, threads, from = c.src.layout.offset_bytes, to = c.dst.layout.offset_bytes](const Slot& slot) {
      omp_set_num_threads(threads);
      work->src.set_data_handle(slot.src + from);
      work->dst.set_data_handle(slot.dst + to);
      work->reorder.execute(work->stream, work->src, work->dst);
      work->stream.wait();
    };
    out.push_back(std::move(peer));
  } catch (const dnnl::error&) {
    // It has no reorder for this pair of types or layouts: no peer.
  }
}

}  // namespace restride::bench
