// The divisions that maps and walks do by multiplications.
#include "src/base/fast_div.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

TEST(FastDiv, AgreesWithDivision) {
  for (const std::int64_t d : {1ll, 2ll, 3ll, 5ll, 7ll, 641ll, 65535ll, 65536ll, 65537ll, 0x40000001ll, 0x7fffffffll})
    for (const std::uint32_t n :
         {0u, 1u, 2u, 640u, 65535u, 65536u, 0x3fffffffu, 0x40000000u, 0x7ffffffeu, 0x7fffffffu}) {
      EXPECT_EQ(base::FastDiv(d).quotient(n), n / static_cast<std::uint32_t>(d)) << n << " / " << d;
      EXPECT_EQ(base::FastDiv64(d).quotient(n), n / static_cast<std::uint64_t>(d));
    }
  for (const std::int64_t d : {1ll, 3ll, 0x100000001ll, 0x7fffffffffffffffll})
    for (const std::uint64_t n : {0ull, 0x7fffffffffffffffull, 0x123456789abcdefull, 0x7ffffffffffffffeull})
      EXPECT_EQ(base::FastDiv64(d).quotient(n), n / static_cast<std::uint64_t>(d)) << n << " / " << d;
}

}  // namespace
}  // namespace restride
