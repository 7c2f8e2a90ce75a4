#include "tests/distributed/random_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace restride::distributed::test {
namespace {

constexpr std::int64_t kMargin = 64;

/// Numbers 0 to 99 as elements of a dtype, by restride's own conversion of bytes.
const std::vector<std::uint8_t>& numbers_of(DType dtype) {
  static thread_local std::map<DType, std::vector<std::uint8_t>> tables;
  std::vector<std::uint8_t>& table = tables[dtype];
  if (table.empty()) {
    std::array<std::uint8_t, 100> plain{};
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::uint8_t>(i);
    table.resize(100 * static_cast<std::size_t>(size_bytes(dtype)));
    copy({table.data(), contiguous(dtype, {100})}, {plain.data(), contiguous(DType::kU8, {100})});
  }
  return table;
}

struct Tensor {
  Distribution src, dst;
  Element src_element, dst_element;
  bool cast = false;
};

Tensor random_tensor(Rng& rng, int ranks) {
  constexpr DType kCasts[] = {DType::kU8,   DType::kI16, DType::kI32, DType::kF16,
                              DType::kBF16, DType::kF32, DType::kF64};
  Tensor t;
  const std::vector<std::int64_t> shape = random_shape(rng, 6, pick(rng, 0, 3) == 0 ? 1500 : 250);
  t.src = random_distribution(rng, shape, ranks);
  t.dst = random_distribution(rng, shape, ranks, false);
  t.cast = pick(rng, 0, 4) == 0;
  if (t.cast) {
    t.src_element = kCasts[pick(rng, 0, 6)];
    t.dst_element = kCasts[pick(rng, 0, 6)];
  } else {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 20};
    t.src_element = t.dst_element = Element::bytes(kSizes[pick(rng, 0, 8)]);
  }
  return t;
}

std::string in_words(const Tensor& t) {
  return to_string(t.src_element) + ' ' + to_string(t.src) + " -> " + to_string(t.dst_element) + ' ' + to_string(t.dst);
}

std::string difference(const std::vector<std::uint8_t>& is, const std::vector<std::uint8_t>& expected) {
  for (std::size_t i = 0; i < is.size(); ++i)
    if (is[i] != expected[i])
      return "byte " + std::to_string(i) + " of " + std::to_string(is.size()) + " is " + std::to_string(is[i]) +
             " and should be " + std::to_string(expected[i]);
  return {};
}

}  // namespace

Memory::Memory(std::vector<Layout> layouts, std::uint8_t canary) : layouts_(std::move(layouts)) {
  std::int64_t lo = 0, hi = 0;
  for (const Layout& l : layouts_) {
    const auto [first, last] = byte_range(l);
    lo = std::min(lo, first);
    hi = std::max(hi, last);
  }
  origin_ = kMargin - lo;
  bytes_.assign(static_cast<std::size_t>(hi - lo + 2 * kMargin), canary);
}

void Memory::fill(const Distribution& d, int rank, std::uint64_t salt, bool cast) {
  const std::vector<Region> all = regions(d, rank);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Layout& layout = layouts_[r];
    const std::int64_t n = elements_of(all[r]);
    const auto bytes = static_cast<std::size_t>(layout.element.size_bytes);
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t rest = k, at = layout.offset_bytes, linear = 0, weight = 1;
      for (std::size_t a = d.shape.size(); a-- > 0;) {
        const std::int64_t size = all[r][a].size(), i = rest % size;
        rest /= size;
        at += i * layout.modes[a].stride_bytes;
        linear += all[r][a].global(i) * weight;
        weight *= d.shape[a];
      }
      std::uint8_t* element = bytes_.data() + origin_ + at;
      const std::uint64_t h = hash_of_index(static_cast<std::uint64_t>(linear), salt);
      if (cast) {
        std::memcpy(element, numbers_of(layout.element.dtype).data() + h % 100 * bytes, bytes);
      } else {
        for (std::size_t b = 0; b < bytes; b += 8) {
          const std::uint64_t word = hash_of_index(h, b);
          std::memcpy(element + b, &word, std::min<std::size_t>(8, bytes - b));
        }
      }
    }
  }
}

std::vector<Layout> random_layouts(Rng& rng, const Distribution& d, int rank, Element element) {
  std::vector<Layout> out;
  std::int64_t at = pick(rng, 0, 40);
  for (const Region& region : regions(d, rank)) {
    std::vector<std::int64_t> extents, strides(region.size());
    for (const Comb& c : region) extents.push_back(c.size());
    std::int64_t stride = element.size_bytes + (pick(rng, 0, 4) == 0 ? pick(rng, 1, 5) : 0), offset = at;
    for (int axis : random_order(rng, region.size())) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int64_t span = stride * std::max<std::int64_t>(extents[a], 1);
      strides[a] = stride;
      if (pick(rng, 0, 4) == 0) {
        strides[a] = -stride;
        offset += stride * (std::max<std::int64_t>(extents[a], 1) - 1);
      }
      stride = span + (pick(rng, 0, 3) == 0 ? pick(rng, 1, 9) : 0);
    }
    out.push_back(strided(element, extents, strides, offset));
    at += stride + pick(rng, 0, 20);
  }
  return out;
}

void Runner::run(Plan& plan, std::vector<Memory>& to, std::vector<Memory>& from) {
  std::vector<void*> dst;
  std::vector<const void*> src;
  for (Memory& m : to) dst.push_back(m.data());
  for (Memory& m : from) src.push_back(m.data());
  plan.run_all(dst, src);
}

std::string run_case(Comm& comm, std::uint64_t seed, const std::vector<Method>& methods) {
  Runner here;
  return run_case(comm, seed, methods, here);
}

std::string run_case(Comm& comm, std::uint64_t seed, const std::vector<Method>& methods, Runner& runner) {
  Rng rng(seed);
  Rng own(seed * 4096 + static_cast<std::uint64_t>(comm.rank()));
  std::vector<Tensor> tensors;
  const std::int64_t count = pick(rng, 0, 9) == 0 ? 2 : 1;
  for (std::int64_t i = 0; i < count; ++i) tensors.push_back(random_tensor(rng, comm.size()));
  ExchangeOptions options;
  options.method = methods[static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(methods.size()) - 1))];
  const bool cast =
      std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.src_element != t.dst_element; });
  if (options.method == Method::kAlltoallw && (count > 1 || cast)) options.method = Method::kAlltoallv;
  options.check_runs = pick(rng, 0, 1) == 0;
  options.check_pairs = pick(rng, 0, 3) == 0;
  if (options.method == Method::kMessages && pick(rng, 0, 1) == 0)
    options.most_workspace_bytes = pick(rng, 0, 1) == 0 ? pick(rng, 80, 400) : pick(rng, 400, 20000);
  options.deadline = std::chrono::seconds(60);
  runner.choose(options);
  const std::int64_t lay = pick(rng, 0, 3);  // who says how its memory lies: nobody, all, or some
  std::string where = "seed " + std::to_string(seed) + ", rank " + std::to_string(comm.rank()) + " of " +
                      std::to_string(comm.size()) + ", " + std::string(name(options.method));
  for (const Tensor& t : tensors) where += "\n  " + in_words(t);
  try {
    std::vector<Transfer> transfers, back;
    std::vector<Memory> src, dst, expected, untouched;
    bool returns = true;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      const auto laid = [&](const Distribution& d, Element e) {
        const bool says = lay == 1 || (lay >= 2 && pick(own, 0, 1) == 0);
        return says ? random_layouts(own, d, comm.rank(), e) : std::vector<Layout>{};
      };
      const Side from{t.src, t.src_element, laid(t.src, t.src_element)};
      const Side to{t.dst, t.dst_element, laid(t.dst, t.dst_element)};
      const auto memory = [&](const Side& s, std::uint8_t canary) {
        return Memory(s.local.empty() ? local_layouts(s.distribution, comm.rank(), s.element) : s.local, canary);
      };
      src.push_back(memory(from, 0xa5));
      src.back().fill(t.src, comm.rank(), seed + i, t.cast);
      untouched.push_back(src.back());
      dst.push_back(memory(to, 0x5a));
      expected.push_back(dst.back());
      expected.back().fill(t.dst, comm.rank(), seed + i, t.cast);
      transfers.push_back({from, to});
      back.push_back({to, from});
      returns = returns && !t.cast;
      try {
        const Exchange reverse(t.dst, t.dst_element, t.src, t.src_element);
      } catch (const ShapeError&) {
        returns = false;  // the target left something out
      }
    }
    Plan forth = plan(transfers, comm, options);
    if (options.most_workspace_bytes > 0 && forth.workspace_bytes() > options.most_workspace_bytes)
      return where + "\n  the workspace has " + std::to_string(forth.workspace_bytes()) + " bytes, not at most " +
             std::to_string(options.most_workspace_bytes);
    for (int again = 0; again < (pick(rng, 0, 4) == 0 ? 2 : 1); ++again) {
      runner.run(forth, dst, src);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (const std::string d = difference(dst[i].bytes(), expected[i].bytes()); !d.empty())
          return where + "\n  dst of tensor " + std::to_string(i) + ": " + d;
        if (src[i].bytes() != untouched[i].bytes()) return where + "\n  src was changed";
      }
    }
    if (!returns) return {};
    std::vector<Memory> returned;
    for (const Transfer& t : back)
      returned.emplace_back(
          t.dst.local.empty() ? local_layouts(t.dst.distribution, comm.rank(), t.dst.element) : t.dst.local, 0xa5);
    Plan home = plan(back, comm, options);
    runner.run(home, returned, dst);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (const std::string d = difference(returned[i].bytes(), untouched[i].bytes()); !d.empty())
        return where + "\n  on the way back: " + d;
  } catch (const std::exception& e) {
    comm.abort(where + ": " + e.what());
    return where + "\n  " + e.what();
  }
  return {};
}

}  // namespace restride::distributed::test
