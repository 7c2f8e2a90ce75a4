// Moves         arrays of records of 3 or 4 fields into planes or back, every element converted (pixels to tensors).
// Applies when  the two widths differ, rows of both sides start on 16 bytes and planes are whole words on both.
// Thread map    records.cu's in units of the narrower side; on the wider one a warp has `ratio` words for each.
// Shared memory units change hands while they are narrow, in the warp's own part, without barriers of the block.
// Traffic       every byte once each way, 16 bytes a lane and whole sectors on both sides.
// Source        records.cu; measured rows in bench/results.
#include "src/cuda/cast/pairs.cuh"
#include "src/cuda/dispatch.cuh"
#include "src/cuda/packed/packed.h"
#include "src/cuda/packed/records.cuh"
#include "src/cuda/packed/records_map.h"

namespace restride::cuda {
namespace {

/// A warp's part of one side, its 16-byte words numbered through: of the records, or of every plane 32 * kRatio words.
/// kRatio: words of this side for each that the narrower one has.
template <bool kPlanes, int kFields, int kRatio>
struct Side {
  static constexpr int kOfPlane = 32 * kRatio;
  std::int64_t first = 0, plane_stride = 0;  // bytes
  int plane_words = 0;                       // that are inside the plane

  __device__ Side(const RecordsArgs& a, std::uint32_t first_word)
      : first(std::int64_t{first_word} * 16 * kRatio * (kPlanes ? 1 : kFields)),
        plane_stride(a.plane_stride),
        plane_words(static_cast<int>(min(32u, a.plane_words - first_word)) * kRatio) {}

  __device__ bool has(int word) const { return kPlanes ? word % kOfPlane < plane_words : word < plane_words * kFields; }
  __device__ std::int64_t byte(int word) const {
    return kPlanes ? first + word / kOfPlane * plane_stride + word % kOfPlane * 16 : first + word * 16;
  }
  /// Where a word's units lie in the warp's shared memory while they are narrow.
  template <class Part>
  __device__ static Part& part(uint4* mine, int word) {
    const RecordsPart at = records_part(word, kRatio);
    const int slot = kPlanes ? at.word : records_slot(at.word, kFields);
    return *reinterpret_cast<Part*>(reinterpret_cast<char*>(mine + slot) + at.byte);
  }
};

template <int kSrc, int kDst, int kFields, bool kToPlanes>
__global__ void __launch_bounds__(kRecordsThreads, resident_blocks(kRecordsThreads, 5))
    packed_records_cast_kernel(const __grid_constant__ RecordsArgs a, char* dst, const char* src) {
  constexpr bool kWidens = kDst > kSrc;
  constexpr int kUnit = kWidens ? kSrc : kDst, kRatio = kWidens ? kDst / kSrc : kSrc / kDst;
  constexpr int kUnits = 16 / (kUnit * kRatio);  // of a word of the wider side
  using From = Side<!kToPlanes, kFields, kWidens ? 1 : kRatio>;
  using To = Side<kToPlanes, kFields, kWidens ? kRatio : 1>;
  using Part = Bits<kUnit * kUnits>;
  constexpr int kWarpWords = records_warp_words(kFields);
  __shared__ __align__(16) uint4 shared[kRecordsThreads / 32 * kWarpWords];
  const int lane = threadIdx.x & 31;
  uint4* const mine = shared + threadIdx.x / 32 * kWarpWords;

  const std::uint32_t warp = blockIdx.x * (kRecordsThreads / 32) + threadIdx.x / 32;
  if (warp >= a.warps) return;
  const auto [at, first] = records_place(a, warp);
  const From from(a, first);
  const To to(a, first);
  src += a.src_offset + at.src;
  dst += a.dst_offset + at.dst;

  uint4 held[kFields];
  if constexpr (kWidens) {
#pragma unroll
    for (int i = 0; i < kFields; ++i)
      if (from.has(i * 32 + lane)) held[i] = load_kept(src + from.byte(i * 32 + lane));
  } else {
#pragma unroll 1
    for (int r = 0; r < kRatio; ++r) {
      const int word = r * kFields * 32 + lane;
#pragma unroll
      for (int i = 0; i < kFields; ++i)
        if (from.has(word + i * 32)) held[i] = load_kept(src + from.byte(word + i * 32));
      with_pair<kDst, kSrc>(a.dst_dtype, a.src_dtype, [&]<class Dst, class Src>() {
#pragma unroll
        for (int i = 0; i < kFields; ++i)
          From::template part<Part>(mine, word + i * 32) = convert_vector<Dst, Src, kUnits>(held[i]);
      });
    }
  }
  // Words of planes that are narrow from the start are the lane's own already.
  if constexpr (kToPlanes || !kWidens) {
    if constexpr (kWidens) {
#pragma unroll
      for (int i = 0; i < kFields; ++i) From::template part<uint4>(mine, i * 32 + lane) = held[i];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kFields; ++i)
      held[i] = mine[kToPlanes ? records_slot(lane * kFields + i, kFields) : i * 32 + lane];
    __syncwarp();
  }

  std::uint32_t in[kFields * 4], out[kFields * 4];
  unpack<16>(held, in);
  permute<kUnit>(in, out, [](int byte) {
    return kToPlanes ? records_record_byte(byte, kUnit, kFields, 16) : records_plane_byte(byte, kUnit, kFields, 16);
  });
  pack<16>(out, held);

  // And so are those of planes that stay narrow.
  if constexpr (!kToPlanes || kWidens) {
#pragma unroll
    for (int i = 0; i < kFields; ++i)
      mine[kToPlanes ? i * 32 + lane : records_slot(lane * kFields + i, kFields)] = held[i];
    __syncwarp();
  }
  if constexpr (kWidens) {
    with_pair<kDst, kSrc>(a.dst_dtype, a.src_dtype, [&]<class Dst, class Src>() {
#pragma unroll
      for (int word = lane; word < 32 * kFields * kRatio; word += 32)
        if (to.has(word))
          store<16>(dst + to.byte(word), convert_vector<Dst, Src, kUnits>(To::template part<Part>(mine, word)));
    });
  } else {
#pragma unroll
    for (int i = 0; i < kFields; ++i) {
      const int word = i * 32 + lane;
      if (to.has(word)) store<16>(dst + to.byte(word), kToPlanes ? held[i] : To::template part<uint4>(mine, word));
    }
  }
}

}  // namespace

int launch_packed_records_cast(const CudaArgs& args, const Launch& on) noexcept {
  const auto& a = std::get<RecordsArgs>(args.args);
#define RESTRIDE_X(kSrc, kDst, kFields)                                                  \
  if (args.units.src == kSrc && args.units.dst == kDst && a.fields == kFields)           \
    return enqueue(a.to_planes ? packed_records_cast_kernel<kSrc, kDst, kFields, true>   \
                               : packed_records_cast_kernel<kSrc, kDst, kFields, false>, \
                   a, on, a.blocks, kRecordsThreads);
  RESTRIDE_RECORD_CASTS(RESTRIDE_X)
#undef RESTRIDE_X
  return static_cast<int>(cudaErrorInvalidValue);
}

}  // namespace restride::cuda
