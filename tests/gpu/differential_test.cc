// Random layouts on the GPU against the CPU engine and the naive loop: every family on every layout that it claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/gpu/gpu_case.h"

namespace restride::test {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// RESTRIDE_SEED replays from one seed; RESTRIDE_CASES sets how many layouts are drawn.
TEST(GpuDifferential, EveryFamilyMatchesTheCpuOnRandomLayouts) {
  const std::uint64_t start = number_from_environment("RESTRIDE_SEED", std::random_device{}());
  const std::uint64_t cases = number_from_environment("RESTRIDE_CASES", 20000);
  GpuBench bench;
  for (std::uint64_t i = 0; i < cases; ++i) {
    Rng rng(start + i);
    Limits limits;
    limits.elements = i % 100 == 0 ? 400000 : i % 10 == 0 ? 40000 : 3000;
    const Case c = random_case(rng, limits);
    // Half of the pointers are as an allocator gives them, half anywhere.
    const std::int64_t dst_skew = pick(rng, 0, 1) * pick(rng, 0, 127);
    const std::int64_t src_skew = pick(rng, 0, 1) * pick(rng, 0, 127);
    SCOPED_TRACE("RESTRIDE_SEED=" + std::to_string(start + i) + " RESTRIDE_CASES=1  " + to_string(c.src) + " -> " +
                 to_string(c.dst));
    bench.check(c, dst_skew, src_skew, start + i);
    if (HasFatalFailure()) return;
  }
  std::printf("first seed %llu, %llu layouts, %lld copies: %s\n", static_cast<unsigned long long>(start),
              static_cast<unsigned long long>(cases), static_cast<long long>(bench.copies()), bench.claims().c_str());
  RecordProperty("layouts", std::to_string(cases));
  RecordProperty("copies", std::to_string(bench.copies()));
  RecordProperty("claims", bench.claims());
}

/// Two-dimensional transposes and batches at extents around the tiles' edges, which random extents seldom meet.
TEST(GpuDifferential, TransposesOfAllUnitsAroundTheTilesEdges) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  for (const std::int64_t size : {1, 2, 3, 4, 6, 8, 12, 16, 24})
    for (const auto& [rows, cols] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                                                                 {31, 33},
                                                                                                 {32, 32},
                                                                                                 {64, 64},
                                                                                                 {63, 65},
                                                                                                 {64, 1},
                                                                                                 {127, 129},
                                                                                                 {128, 192},
                                                                                                 {130, 517},
                                                                                                 {7, 1031},
                                                                                                 {513, 5},
                                                                                                 {256, 255}}) {
      for (const std::int64_t skew : {0, 1, 4}) {
        Case c;
        const Element element = Element::bytes(size);
        c.src = permute(contiguous(element, {3, rows, cols}), {0, 2, 1});
        c.dst = contiguous(element, {3, cols, rows});
        SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst) + " skew " + std::to_string(skew));
        bench.check(c, skew, 0, ++seed);
        if (HasFatalFailure()) return;
        bench.check(c, 0, skew, ++seed);
        if (HasFatalFailure()) return;
      }
    }
}

/// Copies large enough for the candidates that need many tiles: bulk tensor copies, one tile a block and as a ring.
TEST(GpuDifferential, LargeTransposesThroughEveryCandidate) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  const auto check = [&](const Case& c) {
    SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
    bench.check(c, 0, 0, ++seed);
  };
  const auto swapped = [](const Element& to, const Element& from, std::int64_t rows, std::int64_t cols) {
    return Case{contiguous(to, {cols, rows}), permute(contiguous(from, {rows, cols}), {1, 0})};
  };
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    const Element element = Element::bytes(size);
    const std::int64_t elements = (5 << 20) / size, word = 16 / size;
    std::vector<Case> cases;
    for (const std::int64_t rows :
         {256 * word, 65 * word, 1040 / size / word * word})  // on lines, off sectors, ragged tiles
      for (const std::int64_t cols : {elements / rows / 32 * 32, elements / rows / 32 * 32 + 3 * word})
        cases.push_back(swapped(element, element, rows, cols));
    // Outer modes between the tile's on both sides, one inside and one outside, and a third that tensors have no room
    // for.
    const std::int64_t rows = 16 * word, cols = 24 * word;
    cases.push_back({contiguous(element, {cols, elements / rows / cols, rows}),
                     permute(contiguous(element, {rows, elements / rows / cols, cols}), {2, 1, 0})});
    cases.push_back({contiguous(element, {5, cols, elements / rows / cols / 5, rows}),
                     permute(contiguous(element, {5, rows, elements / rows / cols / 5, cols}), {0, 3, 2, 1})});
    cases.push_back(
        {contiguous(element, {3, cols, 2, elements / rows / cols / 6 + 1, rows}),
         permute(contiguous(element, {3, rows, elements / rows / cols / 6 + 1, 2, cols}), {0, 4, 3, 2, 1})});
    // A pitch on either side.
    cases.push_back({slice(contiguous(element, {elements / (64 * word), 80 * word}), 1, 8 * word, 72 * word),
                     permute(slice(contiguous(element, {64 * word, elements / (64 * word) / word * word + 32 * word}),
                                   1, 16 * word, 16 * word + elements / (64 * word)),
                             {1, 0})});
    for (const Case& c : cases) {
      check(c);
      if (HasFatalFailure()) return;
    }
  }
  for (const auto& [to, from] : std::initializer_list<std::pair<DType, DType>>{{DType::kF16, DType::kU8},
                                                                               {DType::kF32, DType::kI8},
                                                                               {DType::kF32, DType::kF16},
                                                                               {DType::kF16, DType::kF32},
                                                                               {DType::kF64, DType::kF32}})
    for (const std::int64_t rows : {1024, 1056})
      for (const std::int64_t cols : {4992, 5024}) {
        check(swapped(to, from, rows, cols));
        if (HasFatalFailure()) return;
      }
}

/// Permutations of many short modes, large enough for tiles whose rows are chains of modes; some chains end inside a
/// tile, and some break off.
TEST(GpuDifferential, ChainsOfModes) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  const std::vector<std::vector<std::int64_t>> shapes = {
      {12, 10, 18, 22, 16, 8}, {8, 12, 20, 14, 8, 12, 2}, {34, 16, 210, 6, 8}, {24, 36, 100, 60}};
  for (const std::int64_t size : {1, 2, 4, 8, 16})
    for (std::vector<std::int64_t> shape : shapes) {
      shape[2] = shape[2] / size + 1;  // as many bytes whatever the size of a unit
      std::vector<std::int64_t> axes;
      for (std::size_t i = shape.size(); i-- > 0;) axes.push_back(static_cast<std::int64_t>(i));
      for (std::size_t turn = 0; turn + 2 < shape.size(); ++turn) {
        const Layout src = permute(contiguous(Element::bytes(size), shape), axes);
        std::vector<std::int64_t> permuted;
        for (const std::int64_t axis : axes) permuted.push_back(shape[static_cast<std::size_t>(axis)]);
        const Case c{contiguous(Element::bytes(size), permuted), src};
        SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
        bench.check(c, 0, 0, ++seed);
        if (HasFatalFailure()) return;
        std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end() - 1);  // the innermost modes stay
      }
    }
}

/// Pixels in every order: colours swapped, left out, mirrored, thinned out, woven from planes; pointers off their
/// words.
TEST(GpuDifferential, Pixels) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  for (const std::int64_t size : {1, 2, 4, 8, 16})
    for (const std::int64_t colours : {1, 2, 3, 4, 5})
      for (const std::int64_t step : {colours, -colours, colours + 1, 2 * colours}) {
        const std::int64_t rows = 7, columns = 301, pitch = columns * std::abs(step) + 3;
        for (const std::int64_t inside : {std::int64_t{1}, std::int64_t{-1}, rows * pitch}) {
          const std::int64_t first = (step < 0 ? -step * (columns - 1) : 0) + (inside < 0 ? colours - 1 : 0);
          const Case c{contiguous(Element::bytes(size), {rows, columns, colours}),
                       strided(Element::bytes(size), std::vector<std::int64_t>{rows, columns, colours},
                               std::vector<std::int64_t>{pitch * size, step * size, inside * size}, first * size)};
          SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
          bench.check(c, 0, 0, ++seed);
          if (HasFatalFailure()) return;
          bench.check(c, size, 3 * size, ++seed);
          if (HasFatalFailure()) return;
        }
      }
}

/// Images transposed and turned by a quarter, in both orders of the colours, at widths around the tiles' edges, with
/// gaps behind the rows of either side; pointers off their words.
TEST(GpuDifferential, PixelsTurned) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  using Numbers = std::vector<std::int64_t>;
  for (const std::int64_t size : {1, 2})
    for (const std::int64_t width : {2, 5, 31, 32, 33, 111, 112, 213, 224, 225, 301, 460})
      for (const std::int64_t height : {4, 31, 32, 65})
        for (const std::int64_t gap : {0, 1, 5}) {
          ++seed;
          const std::int64_t right = seed % 2 == 0 ? 1 : -1, down = seed % 3 == 0 ? -1 : 1,
                             colour = seed % 5 < 2 ? -1 : 1;
          // Rows of dst, `width` pixels long, are columns of src.
          const std::int64_t pitch = 3 * height + gap, image = width * pitch + gap;
          const std::int64_t first =
              (right < 0 ? 3 * (height - 1) : 0) + (down < 0 ? pitch * (width - 1) : 0) + (colour < 0 ? 2 : 0);
          const Numbers shape = {2, height, width, 3};
          const std::int64_t dst_pitch = 3 * width + gap;
          const Case c{
              strided(Element::bytes(size), shape, Numbers{height * dst_pitch * size, dst_pitch * size, 3 * size, size},
                      0),
              strided(Element::bytes(size), shape,
                      Numbers{image * size, right * 3 * size, down * pitch * size, colour * size}, first * size)};
          SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
          for (const auto& [dst_skew, src_skew] :
               std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {size, 3 * size}, {4, 0}, {0, 4}}) {
            bench.check(c, dst_skew, src_skew, ++seed);
            if (HasFatalFailure()) return;
          }
        }
}

/// Records into planes: fields in the opposite order, and fields left out at either end.
TEST(GpuDifferential, PlanesOfSomeFields) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  for (const std::int64_t size : {1, 2, 4, 8})
    for (const std::int64_t fields : {2, 3, 4, 5, 8, 9})
      for (std::int64_t wanted = 2; wanted <= fields; ++wanted)
        for (std::int64_t skipped = 0; skipped <= fields - wanted; ++skipped)
          for (const std::int64_t way : {1, -1}) {
            const std::int64_t count = 2 * 16 * 150, first = skipped + (way < 0 ? wanted - 1 : 0);
            const Case c{
                contiguous(Element::bytes(size), {3, wanted, count}),
                strided(Element::bytes(size), std::vector<std::int64_t>{3, wanted, count},
                        std::vector<std::int64_t>{count * fields * size, way * size, fields * size}, first * size)};
            SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
            bench.check(c, 0, 0, ++seed);
            if (HasFatalFailure()) return;
          }
}

/// The same of rows cut out of images, which start anywhere and need not fill blocks.
TEST(GpuDifferential, PlanesOfCroppedRows) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  for (const std::int64_t size : {1, 2, 4, 8})
    for (const std::int64_t fields : {2, 3, 4, 7})
      for (const std::int64_t count : {16 * 20, 16 * 100, 16 * 301})
        for (const std::int64_t left : {0, 1, 5}) {
          const std::int64_t wanted = fields > 3 ? fields - 1 : fields, pitch = (count + 9) * fields * size;
          const Case c{contiguous(Element::bytes(size), {2, wanted, 7, count}),
                       strided(Element::bytes(size), std::vector<std::int64_t>{2, wanted, 7, count},
                               std::vector<std::int64_t>{9 * pitch, size, pitch, fields * size}, left * fields * size)};
          SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
          bench.check(c, 0, 0, ++seed);
          if (HasFatalFailure()) return;
        }
}

/// Records, images, small batches, reversals: the shapes that the packed family is for, at several unit sizes.
TEST(GpuDifferential, ShortInnermostModes) {
  GpuBench bench;
  std::uint64_t seed = number_from_environment("RESTRIDE_SEED", 1);
  for (const std::int64_t size : {1, 2, 4, 8, 16})
    for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 8, 16}) {
      const Element element = Element::bytes(size);
      const std::vector<Case> cases = {
          {contiguous(element, {n, 1000}), permute(contiguous(element, {1000, n}), {1, 0})},
          {contiguous(element, {1000, n}), permute(contiguous(element, {n, 1000}), {1, 0})},
          {contiguous(element, {2, n, 30, 31}), permute(contiguous(element, {2, 30, 31, n}), {0, 3, 1, 2})},
          {contiguous(element, {301, n, n}), permute(contiguous(element, {301, n, n}), {0, 2, 1})},
          {contiguous(element, {n, 3, 5, 4, 7}), permute(contiguous(element, {7, 4, 5, 3, n}), {4, 3, 2, 1, 0})},
          {contiguous(element, {2, 2, 2, 2, 2, 2, 2, 2, n}),
           permute(contiguous(element, {2, 2, 2, n, 2, 2, 2, 2, 2}), {8, 7, 6, 5, 4, 0, 1, 2, 3})}};
      for (const Case& c : cases) {
        SCOPED_TRACE(to_string(c.src) + " -> " + to_string(c.dst));
        bench.check(c, 0, 0, ++seed);
        if (HasFatalFailure()) return;
        bench.check(c, size, 2 * size, ++seed);
        if (HasFatalFailure()) return;
      }
    }
}

}  // namespace
}  // namespace restride::test
