// Moves         arrays of records of 2 to 9 equal fields, of bytes up to 16, into one plane a field, or back (pixels,
//               structures).
// Applies when  fields are 1 to 8 bytes, and every plane starts on 16 bytes and is a multiple of them; on the way into
//               planes records may start anywhere, fields at their ends may be left out, and their order may be the
//               opposite. Bytes: 10 to 16 whole fields become planes where both sides start on 8; planes become 3 to
//               16 fields where both start on 4. Other planes that start anywhere are planes.cu's.
// Thread map    a thread has one word of every plane, of 16, 8 or 4 bytes; a warp's lie side by side on both sides.
// Shared memory each warp's words change hands in its own part, without barriers of the block; no bank conflicts.
// Traffic       every byte once each way, whole sectors; records off 16 bytes are read by two loads a word, of which
//               the second hits L1.
// Source        the transposition is byte permutes fixed at compile time; measured rows in bench/results.
#include "src/cuda/device.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/packed.h"
#include "src/cuda/packed/records.cuh"
#include "src/cuda/packed/records_map.h"
#include "src/cuda/shift.cuh"

namespace restride::cuda {
namespace {

/// Blocks of a multiprocessor: the registers that a thread's words take leave room for so many.
template <int kFields, int kWord>
constexpr int kRecordsResident = kFields* kWord <= 64    ? 6
                                 : kFields* kWord <= 96  ? 4
                                 : kFields* kWord <= 128 ? 3
                                                         : 2;

template <int kUnit, int kFields, bool kToPlanes, int kWord>
__global__ void __launch_bounds__(kRecordsThreads, resident_blocks(kRecordsThreads, kRecordsResident<kFields, kWord>))
    packed_records_kernel(const __grid_constant__ RecordsArgs a, char* dst, const char* src) {
  constexpr int kWarpWords = records_warp_words(kFields);
  __shared__ __align__(16) Bits<kWord> shared[kRecordsThreads / 32 * kWarpWords];
  const int lane = threadIdx.x & 31;
  Bits<kWord>* const mine = shared + threadIdx.x / 32 * kWarpWords;

  const std::uint32_t warp = blockIdx.x * (kRecordsThreads / 32) + threadIdx.x / 32;
  if (warp >= a.warps) return;
  const auto [at, first] = records_place(a, warp);
  const bool inside = first + lane < a.plane_words;
  const std::int64_t record_words = static_cast<std::int64_t>(a.plane_words) * kFields;
  const std::int64_t record_word = static_cast<std::int64_t>(first) * kFields + lane;
  const std::int64_t plane_byte = static_cast<std::int64_t>(first + lane) * kWord;
  const char* const source_first = src + a.src_first;
  const char* const source_last = src + a.src_last;
  src += a.src_offset + at.src;
  dst += a.dst_offset + at.dst;

  Bits<kWord> words[kFields];
  std::uint32_t in[kFields * kWord / 4] = {}, out[kFields * kWord / 4] = {};

  if constexpr (kToPlanes) {
    const int shift = kWord == 16 ? nibble(src) : 0;
    if (shift == 0) {
#pragma unroll
      for (int i = 0; i < kFields; ++i)
        if (record_word + i * 32 < record_words) {
          const char* const word = src + (record_word + i * 32) * kWord;
          if constexpr (kWord == 16) {
            const bool whole = !a.guarded || (word >= source_first && word + 16 <= source_last);
            words[i] = whole ? load_kept(word) : load_part(word, source_first, source_last);
          } else {
            words[i] = load_kept<kWord>(word);
          }
        }
    } else if constexpr (kWord == 16) {
#pragma unroll
      for (int i = 0; i < kFields; ++i)
        if (record_word + i * 32 < record_words) {
          const char* const word = src + (record_word + i * 32) * 16;
          const char* const low = word - shift;
          const bool whole = low >= source_first && low + 32 <= source_last;
          words[i] =
              whole ? shifted(load_kept(low), load_kept(low + 16), shift) : load_part(word, source_first, source_last);
        }
    }
#pragma unroll
    for (int i = 0; i < kFields; ++i) mine[records_slot(i * 32 + lane, kFields)] = words[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kFields; ++i) words[i] = mine[records_slot(lane * kFields + i, kFields)];
    unpack<kWord>(words, in);
    permute<kUnit>(in, out, [](int byte) { return records_record_byte(byte, kUnit, kFields, kWord); });
    pack<kWord>(out, words);
    if (!inside) return;
#pragma unroll
    for (int i = 0; i < kFields; ++i)
      if (i >= a.first && i < a.last) store<kWord>(dst + i * a.plane_stride + plane_byte, words[i]);
  } else {
    if (inside) {
#pragma unroll
      for (int i = 0; i < kFields; ++i) words[i] = load_kept<kWord>(src + i * a.plane_stride + plane_byte);
    }
    unpack<kWord>(words, in);
    permute<kUnit>(in, out, [](int byte) { return records_plane_byte(byte, kUnit, kFields, kWord); });
    pack<kWord>(out, words);
#pragma unroll
    for (int i = 0; i < kFields; ++i) mine[records_slot(lane * kFields + i, kFields)] = words[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kFields; ++i)
      if (record_word + i * 32 < record_words)
        store<kWord>(dst + (record_word + i * 32) * kWord, mine[records_slot(i * 32 + lane, kFields)]);
  }
}

template <int kUnit, int kFields, bool kToPlanes, int kWord>
int launch_records(const RecordsArgs& a, const Launch& on) noexcept {
  return enqueue(packed_records_kernel<kUnit, kFields, kToPlanes, kWord>, a, on, a.blocks, kRecordsThreads);
}

}  // namespace

int launch_packed_records(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<RecordsArgs>(args.args);
  if (a.vector_bytes != 16 && args.units.dst != 1) return cudaErrorInvalidValue;
  if (a.vector_bytes == 8 && a.to_planes)
    return with_size<10, 11, 12, 13, 14, 15, 16>(
        a.fields, [&]<int kFields>() { return launch_records<1, kFields, true, 8>(a, on); });
  if (a.vector_bytes == 4 && !a.to_planes)
    return with_size<3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>(
        a.fields, [&]<int kFields>() { return launch_records<1, kFields, false, 4>(a, on); });
  if (a.vector_bytes != 16) return cudaErrorInvalidValue;
  return with_size<1, 2, 4, 8>(args.units.dst, [&]<int kUnit>() {
    return with_size<2, 3, 4, 5, 6, 7, 8, 9>(a.fields, [&]<int kFields>() {
      return a.to_planes ? launch_records<kUnit, kFields, true, 16>(a, on)
                         : launch_records<kUnit, kFields, false, 16>(a, on);
    });
  });
}

}  // namespace restride::cuda
