#include "tools/bench/source_fill.h"

#include <cstring>
#include <optional>

#include "tools/bench/host_memory.h"

namespace restride::bench {
namespace {

/// A float format's exponent: where it lies in a word of `bytes`, and which values are of everyday size.
struct Exponent {
  int bytes, shift, bits, lowest;
};

std::optional<Exponent> exponent_of(DType t) {
  switch (t) {
    case DType::kF16: return Exponent{2, 10, 5, 7};  // 2^-8 .. 2^8
    case DType::kBF16: return Exponent{2, 7, 8, 119};
    case DType::kF32:
    case DType::kC64: return Exponent{4, 23, 8, 119};
    case DType::kF64:
    case DType::kC128: return Exponent{8, 52, 11, 1015};
    default: return std::nullopt;
  }
}

/// Gives every word an everyday exponent, but leaves one in 16 as it is where `wild`.
template <class Word>
void tame(std::span<std::byte> memory, const Exponent& e, bool wild) {
  const Word mask = static_cast<Word>(((Word{1} << e.bits) - 1) << e.shift);
  for (std::size_t at = 0; at + sizeof(Word) <= memory.size(); at += sizeof(Word)) {
    Word bits;
    std::memcpy(&bits, memory.data() + at, sizeof bits);
    if (wild && (bits & 15) == 0) continue;
    const Word exponent = static_cast<Word>(e.lowest + ((bits & mask) >> e.shift) % 16);
    bits = static_cast<Word>((bits & ~mask) | exponent << e.shift);
    std::memcpy(memory.data() + at, &bits, sizeof bits);
  }
}

}  // namespace

void fill_source(std::span<std::byte> memory, const CaseSpec& spec, std::uint64_t seed, bool for_peers) {
  fill_random(memory, seed);
  const bool cast = spec.src != spec.dst;
  const auto exponent = exponent_of(spec.src.dtype);
  if (!exponent || !(cast || for_peers)) return;
  switch (exponent->bytes) {
    case 2: return tame<std::uint16_t>(memory, *exponent, !for_peers);
    case 4: return tame<std::uint32_t>(memory, *exponent, !for_peers);
    default: return tame<std::uint64_t>(memory, *exponent, !for_peers);
  }
}

}  // namespace restride::bench
