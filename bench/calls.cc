// What a call costs beside its kernel, and copies of the sizes that people pack and unpack, on the CPU: many pairs by
// one plan (Plan::run_many), a cached copy, a copy of a slice that moves; halos of a grid, a box of it, planes of it,
// against plain loops. Each against its reference in turns, all in the caches that they fit; the least mean of the
// turns, because other work only adds to them. Prints a table; the outputs are compared before anything is timed.
//
//     build/dev/bin/bench_calls [--json FILE]
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <restride/restride.hpp>

#include "bench/calls.h"

using namespace restride;
using namespace restride::bench;

namespace {

/// A mean of `calls` calls.
auto mean_of(int calls) {
  return [calls](const Work& work) {
    work(0);
    const double begin = now_ns();
    for (int call = 0; call < calls; ++call) work(call);
    return (now_ns() - begin) / calls;
  };
}

Options on_threads(int n) {
  Options options;
  options.device = DeviceKind::kCpu;
  options.threads = n;
  return options;
}

/// 1,000 pairs of 4 KiB in any order against one copy of their bytes.
CallRow many(int threads) {
  constexpr std::size_t kPairs = 1000, kBytes = 4096;
  const std::vector<std::uint8_t> from = random_bytes(kPairs * kBytes);
  std::vector<std::uint8_t> to(from.size());
  std::vector<void*> dst;
  std::vector<const void*> src;
  for (std::size_t i = 0; i < kPairs; ++i) {
    dst.push_back(to.data() + i * kBytes);
    src.push_back(from.data() + i * kBytes);
  }
  std::mt19937 random(7);
  std::shuffle(dst.begin(), dst.end(), random);
  std::shuffle(src.begin(), src.end(), random);
  const Layout piece = contiguous(DType::kF32, {1024}), all = contiguous(DType::kF32, {1024 * 1000});
  const Plan one(piece, piece, on_threads(threads)), whole(all, all, on_threads(threads));
  const std::string name =
      "run_many of 1000 pairs of 4 KiB, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  one.run_many(dst, src);
  for (std::size_t i = 0; i < kPairs; ++i) must_be_right(std::memcmp(dst[i], src[i], kBytes) == 0, name);
  return timed(
      name, [&](int) { one.run_many(dst, src); }, "one copy of their bytes",
      [&](int) { whole.run(to.data(), from.data()); }, mean_of(1));
}

CallRow cached_copy() {
  const std::vector<std::uint8_t> from = random_bytes(1024);
  std::vector<std::uint8_t> to(from.size());
  const Layout dst = contiguous(DType::kF32, {16, 16}), src = permute(dst, {1, 0});
  const Plan plan(dst, src, on_threads(1));
  const Options options = on_threads(1);
  const std::string name = "a cached copy of 16 x 16 f32, transposed";
  copy({to.data(), dst}, {from.data(), src}, options);
  for (std::size_t i = 0; i < 256; ++i)
    must_be_right(std::memcmp(&to[i * 4], &from[(i % 16 * 16 + i / 16) * 4], 4) == 0, name);
  return timed(
      name,
      [&](int) {
        copy({to.data(), dst}, {from.data(), src}, options);
      },
      "its plan", [&](int) { plan.run(to.data(), from.data()); }, mean_of(20000));
}

/// A cache that grows by a token: 8 heads of 64 elements f16 into (8, 4096, 64) at every token.
CallRow moving_slice() {
  std::vector<std::uint8_t> cache(8 * 4096 * 64 * 2);
  const std::vector<std::uint8_t> token = random_bytes(8 * 64 * 2);
  const Layout all = contiguous(DType::kF16, {8, 4096, 64}), one = contiguous(DType::kF16, {8, 1, 64});
  const Options options = on_threads(1);
  std::vector<Layout> slices;
  for (std::int64_t t = 0; t < 4096; ++t) slices.push_back(slice(all, 1, t, t + 1));
  const Plan plan(slices[0], one, options);
  const std::string name = "a copy of 8 x 64 f16 to a slice that moves";
  const Work ours = [&](int t) {
    copy({cache.data(), slices[static_cast<std::size_t>(t)]}, {token.data(), one}, options);
  };
  for (int t = 0; t < 4096; ++t) ours(t);
  for (std::size_t row = 0; row < 8 * 4096; ++row)
    must_be_right(std::memcmp(&cache[row * 128], &token[row / 4096 * 128], 128) == 0, name);
  return timed(
      name, ours, "its plan", [&](int t) { plan.run(cache.data() + t * 128, token.data()); }, mean_of(4096));
}

/// Runs of one size at one pitch, or at two, on the side of the grid.
struct Runs {
  std::int64_t outer, inner, outer_pitch, pitch, bytes;
};

/// What programs write by hand. kBytes: of a run where it is short, so that a compiler makes moves of it; else 0.
template <std::int64_t kBytes>
void plain_loop(const Runs& r, std::uint8_t* to, const std::uint8_t* from, bool pack) {
  const std::int64_t bytes = kBytes != 0 ? kBytes : r.bytes;
  std::int64_t packed = 0;
  for (std::int64_t i = 0; i < r.outer; ++i)
    for (std::int64_t j = 0; j < r.inner; ++j, packed += bytes) {
      const std::int64_t at = i * r.outer_pitch + j * r.pitch;
      if (pack)
        std::memcpy(to + packed, from + at, static_cast<std::size_t>(bytes));
      else
        std::memcpy(to + at, from + packed, static_cast<std::size_t>(bytes));
    }
}

/// A part of a grid of f64 packed, or unpacked, against the plain loop.
CallRow part(const std::string& what, const Layout& inside, const Runs& runs, bool pack, const Options& options) {
  const std::string name = what + (pack ? ", packed" : ", unpacked");
  Shape shape;
  for (const Mode& m : inside.modes) shape.push_back(m.extent);
  const Layout packed = contiguous(DType::kF64, shape);
  const auto reach =
      static_cast<std::size_t>((runs.outer - 1) * runs.outer_pitch + (runs.inner - 1) * runs.pitch + runs.bytes);
  const std::size_t bytes = static_cast<std::size_t>(packed.bytes());
  const std::vector<std::uint8_t> from = random_bytes(pack ? reach : bytes);
  std::vector<std::uint8_t> ours(pack ? bytes : reach), theirs(ours.size());
  const auto loop = runs.bytes == 8    ? plain_loop<8>
                    : runs.bytes == 16 ? plain_loop<16>
                    : runs.bytes == 24 ? plain_loop<24>
                    : runs.bytes == 32 ? plain_loop<32>
                                       : plain_loop<0>;
  const Plan plan(pack ? packed : inside, pack ? inside : packed, options);
  plan.run(ours.data(), from.data());
  loop(runs, theirs.data(), from.data(), pack);
  must_be_right(ours == theirs, name);
  return timed(
      name, [&](int) { plan.run(ours.data(), from.data()); }, "a loop of memcpy",
      [&](int) { loop(runs, theirs.data(), from.data(), pack); }, mean_of(4));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = json_argument(argc, argv);
  std::vector<CallRow> rows = {many(1), many(2), cached_copy(), moving_slice()};
  const Options one = on_threads(1);
  for (const bool pack : {true, false}) {
    for (const std::int64_t width : {1, 2, 3, 4}) {  // of a grid whose rows are a page
      const Layout halo = slice(contiguous(DType::kF64, {64, 64, 512}), 2, 0, width);
      const std::string runs = "64 x 64 runs of " + std::to_string(8 * width) + " bytes, a page apart";
      rows.push_back(part(runs, halo, {1, 64 * 64, 0, 4096, 8 * width}, pack, one));
    }
    const Layout box = slice(slice(slice(contiguous(DType::kF64, {64, 64, 64}), 0, 0, 60), 1, 0, 60), 2, 0, 60);
    rows.push_back(part("a box of 60 x 60 x 60 f64", box, {60, 60, 64 * 64 * 8, 64 * 8, 60 * 8}, pack, one));
    const Layout planes = slice(contiguous(DType::kF64, {512, 16, 512}), 1, 0, 3);
    const Runs runs{1, 512, 0, 16 * 4096, 3 * 4096};
    rows.push_back(part("512 runs of 12 KB", planes, runs, pack, one));
    Options soon = one;
    soon.result = ResultUse::kSoon;
    rows.push_back(part("512 runs of 12 KB that are read soon", planes, runs, pack, soon));
  }
  return report_calls(rows, "bench_calls", file);
}
