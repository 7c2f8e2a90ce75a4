// Pointers of many pairs, packed into a kernel's parameters and found again as the kernel finds them.
#include "src/cuda/pairs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/support/instruction_sets.h"

namespace restride::cuda {
namespace {

const void* pointer(std::uint64_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}
std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// Pointers that differ in bits [low, low + bits) only.
struct Side {
  std::uint64_t base;
  unsigned low, bits;
};

std::uint64_t some(const Side& side, std::mt19937_64& random) {
  const std::uint64_t all = side.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << side.bits) - 1;
  return (side.base & ~(all << side.low)) | ((random() & all) << side.low);
}

struct Pointers {
  Pointers(const Side& of_dst, const Side& of_src, std::size_t count) {
    std::mt19937_64 random(count);
    for (std::size_t i = 0; i < count; ++i) {
      dst.push_back(const_cast<void*>(pointer(some(of_dst, random))));
      src.push_back(pointer(some(of_src, random)));
    }
    pairs = {dst.data(), src.data(), count, bits_of(dst.data(), count).unlike(), bits_of(src.data(), count).unlike()};
  }
  std::vector<void*> dst;
  std::vector<const void*> src;
  PointerPairs pairs;
};

/// The first pair that is not what a kernel finds, from the `first` one on; -1 where all are.
std::int64_t first_wrong(const Pointers& p, std::size_t first) {
  constexpr std::uint64_t kPoison = 0x5a5a5a5a5a5a5a5a;
  const std::size_t count = p.dst.size() - first;
  const PairsForm form = form_of(p.pairs);
  const std::size_t words = (count * form.bytes + 7) / 8;
  std::vector<std::uint64_t> memory(words + 1, kPoison);
  pack_pairs(form, p.pairs, first, count, memory.data());
  if (memory[words] != kPoison) return static_cast<std::int64_t>(count);  // more than the pairs were written
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t own[2] = {0, 0};
    std::memcpy(own, reinterpret_cast<const char*>(memory.data()) + i * form.bytes, form.bytes);
    const std::uint64_t to = form.bytes == 16 ? own[0] : form.dst_address(own[0]);
    const std::uint64_t from = form.bytes == 16 ? own[1] : form.src_address(own[0]);
    if (to != address(p.dst[first + i]) || from != address(p.src[first + i])) return static_cast<std::int64_t>(i);
  }
  return -1;
}

struct Case {
  const char* name;
  Side dst, src;
  std::uint32_t bytes;  ///< of a pair
};

constexpr std::uint64_t kBase = 0x7f3a00000000;
const Case kCases[] = {
    {"pieces of 4 KiB of two tensors", {kBase, 12, 10}, {kBase + (1ull << 33), 12, 10}, 4},
    {"all of the same source", {kBase, 12, 20}, {kBase + 0x12345670, 4, 0}, 4},
    {"all to the same destination", {kBase + 0x76543210, 4, 0}, {kBase, 3, 28}, 4},
    {"a source's bits below a destination's number of bits", {kBase, 9, 19}, {kBase, 2, 13}, 4},
    {"every bit of a word", {kBase, 0, 16}, {kBase, 0, 16}, 4},
    {"bits up to the half's last", {kBase, 15, 16}, {kBase, 15, 16}, 4},
    {"bits in both halves", {kBase, 25, 12}, {kBase, 25, 12}, 4},
    {"bits in the high half", {kBase, 33, 6}, {kBase, 40, 7}, 4},
    {"bits in the high half of one side", {kBase, 4, 20}, {kBase, 35, 6}, 4},
    {"small tensors all over 16 GiB", {kBase, 8, 26}, {kBase, 8, 26}, 8},
    {"a source's bits below a destination's number of bits, 8 bytes", {kBase, 1, 40}, {kBase, 0, 23}, 8},
    {"63 bits", {kBase, 0, 40}, {kBase, 8, 23}, 8},
    {"64 bits", {kBase, 0, 40}, {kBase, 8, 24}, 16},
    {"the host's and the device's", {kBase, 0, 47}, {kBase, 0, 47}, 16},
    {"bits that no pointer has", {0, 0, 64}, {0, 0, 64}, 16},
};

TEST(PackPairs, EveryPairIsFoundAgain) {
  for (const std::int64_t set : test::instruction_sets()) {
    const test::OnInstructionSet only(set);
    for (const Case& c : kCases)
      for (const std::size_t count : {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 1000, 2201}) {
        const Pointers p(c.dst, c.src, count);
        if (count >= 100) {
          EXPECT_EQ(form_of(p.pairs).bytes, c.bytes) << c.name;
        }
        EXPECT_EQ(first_wrong(p, 0), -1) << c.name << ", " << count << " pairs";
        EXPECT_EQ(first_wrong(p, count / 2), -1) << c.name << ", the second half of " << count << " pairs";
      }
  }
}

TEST(BitsOf, AreThoseOfEveryPointer) {
  for (const std::int64_t set : test::instruction_sets()) {
    const test::OnInstructionSet only(set);
    for (const Case& c : kCases)
      for (const std::size_t count : {1, 2, 5, 16, 17, 63, 64, 65, 1000}) {
        Pointers p(c.dst, c.src, count);
        for (std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
          PointerBits want;
          for (const void* one : p.src) want.add(one);
          const PointerBits got = bits_of(p.src.data(), count);
          EXPECT_EQ(got.any, want.any) << c.name << ", " << count;
          EXPECT_EQ(got.all, want.all) << c.name << ", " << count;
          p.src[at] = pointer(address(p.src[at]) ^ (std::uint64_t{1} << (at + count) % 64));
        }
      }
  }
}

TEST(BitsOf, TellOfANullAndOfAPointerOffItsAlignment) {
  for (const std::size_t count : {1, 9, 40})
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
      Pointers p({kBase, 12, 10}, {kBase, 12, 10}, count);
      EXPECT_TRUE(bits_of(p.src.data(), count).fits(4096));
      EXPECT_FALSE(bits_of(p.src.data(), count).fits(std::int64_t{1} << 50));
      const void* const right = p.src[at];
      p.src[at] = pointer(address(right) + 2048);
      EXPECT_FALSE(bits_of(p.src.data(), count).fits(4096));
      EXPECT_TRUE(bits_of(p.src.data(), count).fits(2048));
      p.src[at] = nullptr;
      EXPECT_FALSE(bits_of(p.src.data(), count).fits(1));
    }
}

}  // namespace
}  // namespace restride::cuda
