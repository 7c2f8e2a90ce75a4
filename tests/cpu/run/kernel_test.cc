#include "src/cpu/run/kernel.h"

#include "tests/cpu/family.h"

namespace restride {
namespace {

using test::expect_exact;
using test::kStreamed;
using test::kStreamedNear;

TEST(Run, CopiesAnyLengthFromAndToAnywhere) {
  for (const char* layout : {"u8 (1)", "u8 (63)", "u8 (64)", "u8 (65)", "u8 (1000)", "b3 (1001)", "f32 ()"})
    for (const std::int64_t skew : {0, 1, 63}) {
      expect_exact("run/units", layout, layout, {}, skew);
      expect_exact("run/units", layout, layout, kStreamed, skew);
    }
}

TEST(Run, ConvertsAnyLength) {
  for (const char* count : {" (1)", " (63)", " (4097)", " (20000)"})
    for (const std::int64_t skew : {0, 1, 62}) {
      expect_exact("run/units", std::string("bf16") + count, std::string("f32") + count, {}, skew);
      expect_exact("run/units", std::string("bf16") + count, std::string("f32") + count, kStreamed, skew);
      expect_exact("run/units", std::string("c128") + count, std::string("u8") + count, kStreamed, skew);
    }
}

TEST(RunPieces, PrefetchWhatTheyReadJustAhead) {
  for (const char* count : {" (3)", " (100000)", " (262145)"})
    for (const std::int64_t skew : {0, 3}) {
      expect_exact("run/pieces", std::string("u8") + count, std::string("u8") + count, kStreamedNear, skew);
      expect_exact("run/pieces", std::string("u8") + count, std::string("f32") + count, kStreamedNear, skew);
    }
}

TEST(Run, SplitsOverThreads) {
  expect_exact("run/units", "u8 (9999)", "u8 (9999)", kStreamed, 13, 3);
  expect_exact("run/units", "f16 (9999)", "f32 (9999)", kStreamed, 13, 3);
}

}  // namespace
}  // namespace restride
