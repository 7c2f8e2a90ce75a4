#include "tools/bench/plain_copy.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace restride::bench {

#if defined(__x86_64__)
namespace {

// One function an ISA; `dst` is 64-byte aligned and `bytes` a multiple of 256. Four independent loads before the
// stores keep enough reads in flight; the source is prefetched a page's quarter ahead because the hardware's own
// prefetcher stops at the end of every 4 KiB page.
constexpr std::int64_t kAhead = 1024;

__attribute__((target("avx512f"))) void stream_avx512(char* dst, const char* src, std::int64_t bytes) noexcept {
  for (std::int64_t i = 0; i < bytes; i += 256) {
    for (int line = 0; line < 4; ++line) _mm_prefetch(src + i + kAhead + 64 * line, _MM_HINT_T0);
    const __m512i a = _mm512_loadu_si512(src + i), b = _mm512_loadu_si512(src + i + 64);
    const __m512i c = _mm512_loadu_si512(src + i + 128), d = _mm512_loadu_si512(src + i + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i + 192), d);
  }
}

__attribute__((target("avx2"))) void stream_avx2(char* dst, const char* src, std::int64_t bytes) noexcept {
  for (std::int64_t i = 0; i < bytes; i += 128) {
    for (int line = 0; line < 2; ++line) _mm_prefetch(src + i + kAhead + 64 * line, _MM_HINT_T0);
    __m256i v[4];
    for (int k = 0; k < 4; ++k) v[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i + 32 * k));
    for (int k = 0; k < 4; ++k) _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i + 32 * k), v[k]);
  }
}

void stream_sse2(char* dst, const char* src, std::int64_t bytes) noexcept {
  for (std::int64_t i = 0; i < bytes; i += 64) {
    _mm_prefetch(src + i + kAhead, _MM_HINT_T0);
    __m128i v[4];
    for (int k = 0; k < 4; ++k) v[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i + 16 * k));
    for (int k = 0; k < 4; ++k) _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i + 16 * k), v[k]);
  }
}

using Stream = void (*)(char*, const char*, std::int64_t) noexcept;
struct Choice {
  Stream stream;
  const char* isa;
};

Choice choose() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {stream_avx512, "avx512f"};
  if (__builtin_cpu_supports("avx2")) return {stream_avx2, "avx2"};
  return {stream_sse2, "sse2"};
}

const Choice kChoice = choose();

}  // namespace

void copy_streaming(void* dst, const void* src, std::int64_t bytes) noexcept {
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  const auto head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & 63);
  if (bytes < head + 256) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  std::memcpy(to, from, static_cast<std::size_t>(head));
  const std::int64_t body = (bytes - head) / 256 * 256;
  kChoice.stream(to + head, from + head, body);
  std::memcpy(to + head + body, from + head + body, static_cast<std::size_t>(bytes - head - body));
  _mm_sfence();
}

bool has_streaming_copy() noexcept { return true; }
const char* streaming_isa() noexcept { return kChoice.isa; }

#else

void copy_streaming(void* dst, const void* src, std::int64_t bytes) noexcept {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}
bool has_streaming_copy() noexcept { return false; }
const char* streaming_isa() noexcept { return "none"; }

#endif

}  // namespace restride::bench
