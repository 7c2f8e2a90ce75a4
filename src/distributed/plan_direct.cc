// Copies between ranks that reach each other's memory: out of the sources, or into the targets where kernels store.
#include <algorithm>

#include "src/distributed/plan.h"

namespace restride::distributed {

std::vector<std::vector<std::vector<Layout>>> everyones_layouts(Side Transfer::*side,
                                                                std::span<const Transfer> transfers, Comm& comm,
                                                                Deadline deadline) {
  std::string mine;  // a tensor ends with a line break; nothing: the dense layouts
  for (const Transfer& t : transfers) {
    for (const Layout& l : (t.*side).local) mine += to_string(l) + ';';
    mine += '\n';
  }
  const auto n = static_cast<std::size_t>(comm.size());
  const auto bytes = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(n);
  comm.allgather(&bytes, lengths.data(), sizeof bytes, "plan", deadline);
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  mine.resize(static_cast<std::size_t>(longest), ' ');
  std::string all(n * static_cast<std::size_t>(longest), ' ');
  comm.allgather(mine.data(), all.data(), longest, "plan", deadline);
  std::vector<std::vector<std::vector<Layout>>> out(n);
  for (std::size_t r = 0; r < n; ++r) {
    std::string_view text =
        std::string_view(all).substr(r * static_cast<std::size_t>(longest), static_cast<std::size_t>(lengths[r]));
    for (const Transfer& t : transfers) {
      const std::size_t end = text.find('\n');
      std::string_view layouts = text.substr(0, end);
      text.remove_prefix(end + 1);
      std::vector<Layout>& of = out[r].emplace_back();
      if (layouts.empty()) of = local_layouts((t.*side).distribution, static_cast<int>(r), (t.*side).element);
      for (; !layouts.empty(); layouts.remove_prefix(layouts.find(';') + 1))
        of.push_back(parse_layout(layouts.substr(0, layouts.find(';'))));
    }
  }
  return out;
}

/// What is reached is the side whose rank does not copy: the others' sources, or, where kernels store, their targets.
void Plan::Impl::make_direct(const std::vector<std::vector<std::vector<Layout>>>& theirs) {
  for (std::size_t t = 0; t < exchanges.size(); ++t) {
    StepMaker make(exchanges[t].impl(), static_cast<int>(t), plans);
    const std::vector<PairParts> incoming = exchanges[t].impl().receives(comm.rank()),
                                 outgoing = exchanges[t].impl().sends(comm.rank());
    for (const PairParts& pair : fused ? outgoing : incoming) {
      std::vector<CopyStep>& out =
          pair.peer == comm.rank() ? kept : direct.emplace_back(PeerCopies{pair.peer, {}}).steps;
      const std::vector<Layout>& reached = theirs[static_cast<std::size_t>(pair.peer)][t];
      make.straight(pair, fused ? local[t].src : reached, fused ? reached : local[t].dst, out);
    }
    for (const PairParts& pair : incoming)
      if (pair.peer != comm.rank()) received_bytes += pair.elements * exchanges[t].wire_element().size_bytes;
    for (const PairParts& pair : outgoing)
      if (pair.peer != comm.rank()) sent_bytes += pair.elements * exchanges[t].wire_element().size_bytes;
  }
}

}  // namespace restride::distributed
