// Every cast with elements worth casting and what must become of them, for the tests of kernels that cast.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "src/base/convert.h"

namespace restride::base::test {

using Bytes = std::vector<std::uint8_t>;

/// One element at a time with convert: what every cast must equal.
struct Naive {
  using Fn = void (*)(std::uint8_t* dst, const std::uint8_t* src, std::size_t n);
  template <class Dst, class Src>
  static void cast(std::uint8_t* dst, const std::uint8_t* src, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      Src in;
      std::memcpy(&in, src + i * sizeof(Src), sizeof(Src));
      const Dst out = convert<Dst>(in);
      std::memcpy(dst + i * sizeof(Dst), &out, sizeof(Dst));
    }
  }
  template <class Dst, class Src>
  static constexpr Fn get() {
    return &cast<Dst, Src>;
  }
};
inline constexpr auto kNaive = make_cast_table<Naive::Fn, Naive>();

template <class Float, class Word>
void append_floats(Bytes& bytes, std::mt19937_64& random) {
  const auto add = [&bytes](Word word) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(&word);
    bytes.insert(bytes.end(), p, p + sizeof word);
  };
  constexpr int kMantissa = std::numeric_limits<Float>::digits - 1;
  constexpr int kPlaces = 8 * sizeof(Word);
  constexpr Word kExponents = (Word{1} << (kPlaces - 1 - kMantissa)) - 1;
  // Every exponent with mantissas around each power of two, where ties, limits and NaN payloads lie.
  for (Word exponent = 0; exponent <= kExponents; ++exponent)
    for (int bit = 0; bit <= kMantissa; bit += sizeof(Word) == 4 ? 1 : 7)
      for (Word mantissa : {Word{1} << bit, (Word{1} << bit) - 1, (Word{1} << bit) + 1, (Word{3} << bit) - 1})
        for (Word sign : {Word{0}, Word{1}})
          add(sign << (kPlaces - 1) | exponent << kMantissa | (mantissa & ((Word{1} << kMantissa) - 1)));
  for (int i = 0; i < 20000; ++i) {
    const auto word = static_cast<Word>(random());
    const Word near_one = (kExponents / 2 - 20 + word % 40) << kMantissa;
    add(i % 2 == 0 ? word : near_one | (static_cast<Word>(random()) & ((Word{1} << kMantissa) - 1)));
  }
}

template <class Int>
void append_integers(Bytes& bytes, std::mt19937_64& random) {
  for (int i = 0; i < 20000; ++i) {
    auto value = static_cast<Int>(static_cast<Int>(random()) >> (random() % (8 * sizeof(Int))));
    if (i % 4 == 0) value = static_cast<Int>((Int{1} << (random() % (8 * sizeof(Int) - 1))) + i % 3 - 1);
    if (i % 4 == 1) {  // two bits and what is next to them: ties, at every distance
      const auto high = static_cast<int>(random() % (8 * sizeof(Int) - 1));
      value = static_cast<Int>((Int{1} << high) + (Int{1} << (random() % (high + 1))) / 2 + i % 3 - 1);
      if (i % 8 == 1) value = static_cast<Int>(-value);
    }
    const auto* p = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof value);
  }
}

/// Elements to cast: every code of the 8- and 16-bit dtypes, edges and random bits of the wider ones.
inline Bytes sources(DType t) {
  Bytes bytes;
  std::mt19937_64 random(7);
  switch (size_bytes(t)) {
    case 1:
      for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
      return bytes;
    case 2:
      for (int i = 0; i < 65536; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(i));
        bytes.push_back(static_cast<std::uint8_t>(i >> 8));
      }
      return bytes;
    default: break;
  }
  switch (t) {
    case DType::kF32:
    case DType::kC64: append_floats<float, std::uint32_t>(bytes, random); break;
    case DType::kF64:
    case DType::kC128: append_floats<double, std::uint64_t>(bytes, random); break;
    case DType::kU32:
    case DType::kI32: append_integers<std::int32_t>(bytes, random); break;
    default: append_integers<std::int64_t>(bytes, random); break;
  }
  return bytes;
}

inline Bytes reference(DType dst, DType src, const Bytes& in) {
  const std::size_t n = in.size() / static_cast<std::size_t>(size_bytes(src));
  Bytes out(n * static_cast<std::size_t>(size_bytes(dst)));
  kNaive(dst, src)(out.data(), in.data(), n);
  return out;
}

template <class F>
void for_each_pair(F&& f) {
  for (int s = 0; s < kDTypeCount; ++s)
    for (int d = 0; d < kDTypeCount; ++d)
      if (castable(static_cast<DType>(d), static_cast<DType>(s))) f(static_cast<DType>(d), static_cast<DType>(s));
}

inline std::string pair_name(DType dst, DType src) { return std::string(name(src)) + " -> " + std::string(name(dst)); }

/// The first element that differs, in hex, or nothing.
inline std::string difference(const Bytes& got, const Bytes& want, std::size_t size) {
  for (std::size_t i = 0; i < want.size(); i += size) {
    if (std::memcmp(&got[i], &want[i], size) == 0) continue;
    std::string text = "element " + std::to_string(i / size) + ": got, want (bytes)";
    for (std::size_t k = 0; k < size; ++k) text += ' ' + std::to_string(got[i + k]) + '/' + std::to_string(want[i + k]);
    return text;
  }
  return {};
}

}  // namespace restride::base::test
