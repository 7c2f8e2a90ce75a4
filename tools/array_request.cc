#include "tools/array_request.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "src/layout/describe.h"

namespace restride::tools {
namespace {

/// A mode of both sides; strides in elements.
struct ModePair {
  std::int64_t extent, dst, src;
};

/// In the order of the destination, what is contiguous on both sides as one.
std::vector<ModePair> merged(const Layout& dst, const Layout& src) {
  std::vector<ModePair> modes, out;
  for (std::size_t i = 0; i < dst.modes.size(); ++i)
    if (dst.modes[i].extent != 1)
      modes.push_back({dst.modes[i].extent, dst.modes[i].stride_bytes, src.modes[i].stride_bytes});
  std::sort(modes.begin(), modes.end(), [](const ModePair& a, const ModePair& b) { return a.dst < b.dst; });
  for (const ModePair& m : modes) {
    const bool goes_on =
        !out.empty() && m.dst == out.back().dst * out.back().extent && m.src == out.back().src * out.back().extent;
    if (goes_on)
      out.back().extent *= m.extent;
    else
      out.push_back(m);
  }
  return out;
}

/// Makes bytes of a request whose strides and offsets are elements of `bits` bits.
void pack(CopyRequest& request, const std::string& dtype, int bits, std::int64_t first_byte) {
  const std::int64_t group = 8 / std::gcd(8, bits), bytes = group * bits / 8;  // F4: 2 in 1, F6: 4 in 3
  const UnsupportedError cut(
      fmt::format("{} has {} in {}, and this copy would cut them apart: the last mode, or all that is merged with it, "
                  "must stay the "
                  "fastest one, in steps of {}",
                  dtype, layout::counted(static_cast<std::size_t>(group), "element"),
                  layout::counted(static_cast<std::size_t>(bytes), "byte"), group));
  Layout dst{Element::bytes(bytes), {}, 0}, src{Element::bytes(bytes), {}, first_byte};
  if (request.result.elements() == 0) {
    dst.modes = src.modes = request.result.modes;
  } else {
    if (request.reshape) throw cut;
    std::vector<ModePair> modes = merged(request.dst, request.src);
    if (modes.empty() || modes[0].dst != 1 || modes[0].src != 1 || modes[0].extent % group != 0) throw cut;
    modes[0] = {modes[0].extent / group, group, group};
    std::reverse(modes.begin(), modes.end());
    for (const ModePair& m : modes) {
      if (m.dst % group != 0 || m.src % group != 0) throw cut;
      dst.modes.push_back({m.extent, m.dst / group * bytes});
      src.modes.push_back({m.extent, m.src / group * bytes});
    }
    if (request.src.offset_bytes % group != 0 || request.dst.offset_bytes != 0) throw cut;
    src.offset_bytes += request.src.offset_bytes / group * bytes;
  }
  request.dst = dst;
  request.src = src;
}

}  // namespace

CopyRequest request_for(const ViewOptions& options, const io::ArrayEntry& entry) {
  if (!entry.safetensors_dtype.empty() && !options.dtype.empty() &&
      element_named(options.dtype) != entry.layout.element)
    throw CastError(fmt::format(
        "{} cannot become {}: restride moves such elements and converts none; {}", entry.safetensors_dtype,
        options.dtype,
        entry.bits != 0 ? "leave out --dtype" : "leave out --dtype, or take their bits with --in-dtype u8"));
  if (entry.bits == 0) return apply(options, entry.layout);
  if (!options.dtype.empty())
    throw CastError(
        fmt::format("{} is no dtype that elements of {} bits have; leave out --dtype", options.dtype, entry.bits));
  Layout elements = entry.layout;
  elements.offset_bytes = 0;
  CopyRequest request = apply(options, elements);
  pack(request, entry.safetensors_dtype, entry.bits, entry.layout.offset_bytes);
  return request;
}

io::ArraySpec spec_for(const CopyRequest& request, const io::ArrayEntry& entry) {
  io::ArraySpec spec = io::spec_of(request.result);
  spec.bytes = static_cast<std::uint64_t>(request.dst.bytes());
  spec.fortran_order = request.fortran_order;
  if (request.result.element != entry.layout.element) return spec;
  spec.npy_descr = entry.npy_descr;
  spec.safetensors_dtype = entry.safetensors_dtype;
  spec.bits = entry.bits;
  return spec;
}

std::string layout_text(const Layout& layout, const io::ArrayEntry& entry) {
  if (entry.bits == 0) return to_string(layout);
  return fmt::format("{} {}", entry.safetensors_dtype, layout::join_extents(layout.modes));
}

}  // namespace restride::tools
