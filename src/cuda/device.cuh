// What the kernels share: units as registers, words, asynchronous copies into shared memory, launching.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace restride::cuda {

/// Threads that a multiprocessor of the architecture that is being compiled for holds.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || \
    __CUDA_ARCH__ == 1030
inline constexpr int kMultiprocessorThreads = 2048;
#elif __CUDA_ARCH__ >= 860
inline constexpr int kMultiprocessorThreads = 1536;
#else
inline constexpr int kMultiprocessorThreads = 1024;
#endif

/// The second of a kernel's launch bounds: blocks that a multiprocessor is to hold, as far as it can. More than it can
/// are an error of ptxas.
constexpr int resident_blocks(int threads, int wanted) {
  return wanted * threads <= kMultiprocessorThreads ? wanted : kMultiprocessorThreads / threads;
}

/// The register type that holds a unit of so many bytes.
template <int bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using type = uint2;
};
template <>
struct BitsOf<16> {
  using type = uint4;
};
template <int bytes>
using Bits = typename BitsOf<bytes>::type;

/// An operation that moves a unit untouched: the `Op` of kernels that convert with another (Cast in cast/cast.cuh,
/// Convert in cast/pairs.cuh).
template <int bytes>
struct Move {
  static constexpr int kSrc = bytes, kDst = bytes;
  __device__ static Bits<bytes> apply(Bits<bytes> unit) { return unit; }
};

/// True for those.
template <class Op>
inline constexpr bool kMoves = false;
template <int bytes>
inline constexpr bool kMoves<Move<bytes>> = true;

/// Four words moved on by `by` places: out[i] = in[(i - by) mod 4].
__device__ inline void rotate_words(std::uint32_t (&v)[4], int by) {
  const bool by1 = (by & 1) != 0, by2 = (by & 2) != 0;
  const std::uint32_t a0 = by1 ? v[3] : v[0], a1 = by1 ? v[0] : v[1], a2 = by1 ? v[1] : v[2], a3 = by1 ? v[2] : v[3];
  v[0] = by2 ? a2 : a0, v[1] = by2 ? a3 : a1, v[2] = by2 ? a0 : a2, v[3] = by2 ? a1 : a3;
}

/// in[j] holds 4 / kUnit units of row j of a small matrix; out[i] gets column i.
template <int kUnit>
__device__ inline void transpose_words(const std::uint32_t (&in)[4 / kUnit], std::uint32_t (&out)[4 / kUnit]) {
  if constexpr (kUnit == 2) {
    out[0] = __byte_perm(in[0], in[1], 0x5410);
    out[1] = __byte_perm(in[0], in[1], 0x7632);
  } else {
    const std::uint32_t a0 = __byte_perm(in[0], in[1], 0x5140), a1 = __byte_perm(in[2], in[3], 0x5140);
    const std::uint32_t b0 = __byte_perm(in[0], in[1], 0x7362), b1 = __byte_perm(in[2], in[3], 0x7362);
    out[0] = __byte_perm(a0, a1, 0x5410);
    out[1] = __byte_perm(a0, a1, 0x7632);
    out[2] = __byte_perm(b0, b1, 0x5410);
    out[3] = __byte_perm(b0, b1, 0x7632);
  }
}

/// `count` units of `bytes` each, one to 16 bytes in all, as one access of memory.
template <int bytes, int count>
__device__ inline Bits<bytes * count> join(const Bits<bytes> (&u)[count]) {
  if constexpr (count == 1) {
    return u[0];
  } else if constexpr (bytes * count <= 4) {
    if constexpr (bytes == 2)
      return __byte_perm(u[0], u[1], 0x5410);
    else if constexpr (count == 2)
      return static_cast<std::uint16_t>(__byte_perm(u[0], u[1], 0x0040));
    else
      return __byte_perm(__byte_perm(u[0], u[1], 0x0040), __byte_perm(u[2], u[3], 0x0040), 0x5410);
  } else if constexpr (bytes < 4) {
    constexpr int kPerWord = 4 / bytes;
    std::uint32_t words[count / kPerWord];
#pragma unroll
    for (int w = 0; w < count / kPerWord; ++w) {
      Bits<bytes> part[kPerWord];
#pragma unroll
      for (int i = 0; i < kPerWord; ++i) part[i] = u[w * kPerWord + i];
      words[w] = join<bytes, kPerWord>(part);
    }
    return join<4, count / kPerWord>(words);
  } else if constexpr (bytes == 4) {
    if constexpr (count == 2)
      return make_uint2(u[0], u[1]);
    else
      return make_uint4(u[0], u[1], u[2], u[3]);
  } else {
    return make_uint4(u[0].x, u[0].y, u[1].x, u[1].y);
  }
}

/// The units of an access of memory.
template <int bytes, int count>
__device__ inline void split(const Bits<bytes * count>& v, Bits<bytes> (&u)[count]) {
  if constexpr (count == 1) {
    u[0] = v;
  } else if constexpr (bytes * count <= 4) {
#pragma unroll
    for (int i = 0; i < count; ++i) u[i] = static_cast<Bits<bytes>>(static_cast<std::uint32_t>(v) >> (8 * bytes * i));
  } else {
    std::uint32_t words[bytes * count / 4];
    words[0] = v.x, words[1] = v.y;
    if constexpr (bytes * count == 16) words[2] = v.z, words[3] = v.w;
    if constexpr (bytes == 8) {
      u[0] = make_uint2(words[0], words[1]);
      u[1] = make_uint2(words[2], words[3]);
    } else if constexpr (bytes == 4) {
#pragma unroll
      for (int i = 0; i < count; ++i) u[i] = words[i];
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i) u[i] = static_cast<Bits<bytes>>(words[i * bytes / 4] >> (8 * (i * bytes % 4)));
    }
  }
}

template <int bytes>
__device__ inline Bits<bytes> load(const void* p) {
  return *static_cast<const Bits<bytes>*>(p);
}
template <int bytes>
__device__ inline void store(void* p, Bits<bytes> v) {
  *static_cast<Bits<bytes>*>(p) = v;
}

/// Asks L2 for the sector that holds `p`, of which a part is about to be written: memory takes whole sectors, so L2 has
/// to read it anyway, and does that better before the write than when it gives the sector up.
__device__ inline void fetch_sector(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory"); }

/// The policy of what L2 gives up last: words of src, for neighbouring tiles share lines and sectors of them. Stores
/// have no policy.
__device__ inline std::uint64_t kept_policy() {
  std::uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

/// That policy, or the ordinary one, as a plan says.
__device__ inline std::uint64_t source_policy(bool keep) {
  std::uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
#endif
  return keep ? kept_policy() : policy;
}

/// A word of src, or a unit of it, read under a policy.
template <int bytes = 16>
__device__ inline Bits<bytes> load_under(std::uint64_t policy, const char* from) {
#if __CUDA_ARCH__ >= 800
  Bits<bytes> v;
  if constexpr (bytes == 16) {
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from), "l"(policy));
  } else if constexpr (bytes == 8) {
    asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(v.x), "=r"(v.y) : "l"(from), "l"(policy));
  } else if constexpr (bytes == 4) {
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(v) : "l"(from), "l"(policy));
  } else if constexpr (bytes == 2) {
    asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(v) : "l"(from), "l"(policy));
  } else {
    std::uint32_t byte;
    asm volatile("ld.global.L2::cache_hint.u8 %0, [%1], %2;" : "=r"(byte) : "l"(from), "l"(policy));
    v = static_cast<std::uint8_t>(byte);
  }
  return v;
#else
  return load<bytes>(from);
#endif
}

/// The same under the policy of what L2 gives up last.
template <int bytes = 16>
__device__ inline Bits<bytes> load_kept(const char* from) {
  return load_under<bytes>(kept_policy(), from);
}

/// The word at `from`, of which only what lies in [first, last) is the source's.
__device__ inline uint4 load_part(const char* from, const char* first, const char* last) {
  std::uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < 16; ++i)
    if (from + i >= first && from + i < last)
      words[i / 4] |= static_cast<std::uint32_t>(*reinterpret_cast<const unsigned char*>(from + i)) << (i % 4 * 8);
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// The bytes [first, last) of a 16-byte word of units of kUnit bytes; `to` is the word's first byte.
template <int kUnit>
__device__ inline void store_part(char* to, const uint4& v, int first, int last) {
  const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if (first <= 4 * w && 4 * w + 4 <= last) {
      store<4>(to + 4 * w, words[w]);
    } else if constexpr (kUnit < 4) {
#pragma unroll
      for (int b = 0; b < 4; b += kUnit)
        if (first <= 4 * w + b && 4 * w + b + kUnit <= last)
          store<kUnit>(to + 4 * w + b, static_cast<Bits<kUnit>>(words[w] >> (8 * b)));
    }
  }
}

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A unit at a byte address of shared memory.
template <int bytes>
__device__ inline Bits<bytes> load_shared(std::uint32_t at) {
  Bits<bytes> v;
  if constexpr (bytes == 1) {
    std::uint32_t w;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(w) : "r"(at));
    v = static_cast<std::uint8_t>(w);
  } else if constexpr (bytes == 2) {
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at));
  } else if constexpr (bytes == 4) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
  } else if constexpr (bytes == 8) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at));
  } else {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
  }
  return v;
}

__device__ inline void store_shared(std::uint32_t at, const uint4& v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

/// A 16-byte word from global into shared memory, past the registers (sm_80); complete after `wait_copies`.
/// `whole_lines`: the word's 128 bytes will all be wanted, so L2 fetches them at once; not for tiles of units of 1 byte
/// whose rows start anywhere, for they have much halo.
/// `kept`: L2 gives it up last. tile/pixels, packed/staged and /planes ask for that; tile/unaligned and
/// /unaligned_chains lose by it, and packed/batches does not ask.
template <bool whole_lines, bool kept = false>
__device__ inline void copy_word(std::uint32_t to_shared, const void* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (kept)
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(to_shared), "l"(from),
                 "l"(kept_policy())
                 : "memory");
  else if constexpr (whole_lines)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to_shared), "l"(from) : "memory");
  else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_shared), "l"(from) : "memory");
#else
  const uint4 v = *static_cast<const uint4*>(from);
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to_shared), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
#endif
}
/// The same of whole lines, where `wanted`: without a branch, so that several are on their way at once.
__device__ inline void copy_word_if(bool wanted, std::uint32_t to_shared, const void* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n"
      "@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n}" ::"r"(to_shared),
      "l"(from), "r"(static_cast<std::uint32_t>(wanted))
      : "memory");
#else
  if (wanted) copy_word<true>(to_shared, from);
#endif
}
__device__ inline void wait_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// The bytes [first, last) of a word that reaches beyond the source, one by one.
__device__ inline void copy_part(std::uint32_t to_shared, const char* from, const char* first, const char* last) {
  for (int i = 0; i < 16; ++i)
    if (from + i >= first && from + i < last)
      asm volatile("st.shared.u8 [%0], %1;" ::"r"(to_shared + i),
                   "r"(static_cast<std::uint32_t>(*reinterpret_cast<const unsigned char*>(from + i)))
                   : "memory");
}

/// Stages the aligned word at `from`; bytes outside [first, last) are not the source's and are not read.
template <bool whole_lines>
__device__ inline void stage_word(std::uint32_t to_shared, const char* from, const char* first, const char* last) {
  if (from >= first && from + 16 <= last)
    copy_word<whole_lines>(to_shared, from);
  else
    copy_part(to_shared, from, first, last);
}

/// Low four bits of an address.
__device__ inline int nibble(const void* p) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) & 15); }

}  // namespace restride::cuda
