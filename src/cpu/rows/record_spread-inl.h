// Writing records into the cells of a row, and nothing of what lies between them: three channels of four. Included once
// per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_ROWS_RECORD_SPREAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_ROWS_RECORD_SPREAD_INL_H_
#undef RESTRIDE_CPU_ROWS_RECORD_SPREAD_INL_H_
#else
#define RESTRIDE_CPU_ROWS_RECORD_SPREAD_INL_H_
#endif

#include "src/cpu/rows/args.h"
#include "src/cpu/rows/record_pick-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3_DL
/// A vector of cells at a time, stored under a mask.
class RecordSpread {
 public:
  explicit RecordSpread(const RowsArgs& a)
      : record_(a.dst_unit), from_stride_(a.row_src_stride), to_stride_(a.row_dst_stride) {
    const std::int64_t cell = std::abs(from_stride_);
    at_once_ = (kVector - record_) / std::max(cell, to_stride_) + 1;
    fill_vector_ = records_that_span(kVector, record_, cell);
    lead_ = from_stride_ < 0 ? record_ - kVector : 0;
    for (std::int64_t k = 0; k < at_once_; ++k)
      for (std::int64_t b = 0; b < record_; ++b) {
        index_[k * to_stride_ + b] = static_cast<std::uint8_t>(k * from_stride_ - lead_ + byte_in_cell(a.record, b));
        mask_ |= std::uint64_t{1} << (k * to_stride_ + b);
      }
  }

  /// n records from the one at `from` into the cells from `to` on. Reads nothing outside the bytes they span.
  HWY_INLINE void put(std::uint8_t* to, const std::uint8_t* from, std::int64_t n) const {
    for (; n >= fill_vector_; next(&to, &from, &n)) step(to, from + lead_, cells(n));
    if (n <= 0) return;
    // The rest from a copy with a vector's room on both sides.
    alignas(64) std::uint8_t rest[3 * kVector];
    const std::int64_t below = from_stride_ < 0 ? (n - 1) * -from_stride_ : 0;
    std::memcpy(rest + kVector, from - below, static_cast<std::size_t>((n - 1) * std::abs(from_stride_) + record_));
    from = rest + kVector + below;
    for (; n > 0; next(&to, &from, &n)) step(to, from + lead_, cells(n));
  }

 private:
  static constexpr std::int64_t kVector = 64;
  HWY_INLINE void next(std::uint8_t** to, const std::uint8_t** from, std::int64_t* n) const {
    *to += at_once_ * to_stride_;
    *from += at_once_ * from_stride_;
    *n -= at_once_;
  }
  /// The mask of the first n cells.
  std::uint64_t cells(std::int64_t n) const {
    return n >= at_once_ ? mask_ : mask_ & ((std::uint64_t{1} << (n * to_stride_)) - 1);
  }
  HWY_INLINE void step(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::uint64_t mask) const {
    const hn::CappedTag<std::uint8_t, 64> d;
    _mm512_mask_storeu_epi8(to, mask, _mm512_permutexvar_epi8(hn::Load(d, index_).raw, hn::LoadU(d, from).raw));
  }

  std::int64_t record_;
  std::int64_t from_stride_;
  std::int64_t to_stride_;
  std::int64_t fill_vector_ = 1;  ///< records that span a vector of source or more
  std::int64_t at_once_ = 1;      ///< records of a step
  std::int64_t lead_ = 0;
  std::uint64_t mask_ = 0;
  alignas(64) std::uint8_t index_[64] = {};
};
#else
/// Picked together, then stored one by one, each by two words that may overlap.
class RecordSpread {
 public:
  explicit RecordSpread(const RowsArgs& a)
      : pick_(a), record_(a.dst_unit), from_stride_(a.row_src_stride), to_stride_(a.row_dst_stride) {}

  /// n records from the one at `from` into the cells from `to` on. Reads nothing outside the bytes they span.
  void put(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::int64_t n) const {
    constexpr std::int64_t kBytes = 1024;
    alignas(64) std::uint8_t together[kBytes + RecordPick::kRoom];
    const std::int64_t most = kBytes / record_;
    while (n > 0) {
      const std::int64_t k = std::min(n, most);
      pick_.take(together, from, k);
      store(to, together, k);
      to += k * to_stride_;
      from += k * from_stride_;
      n -= k;
    }
  }

 private:
  void store(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::int64_t n) const {
    if (record_ >= 8) return store_words<8>(to, from, n);
    if (record_ >= 4) return store_words<4>(to, from, n);
    if (record_ >= 2) return store_words<2>(to, from, n);
    store_words<1>(to, from, n);
  }
  template <std::size_t kWord>
  HWY_INLINE void store_words(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from,
                              std::int64_t n) const {
    const std::int64_t second = record_ - static_cast<std::int64_t>(kWord);
    for (; n > 0; --n, to += to_stride_, from += record_) {
      std::memcpy(to, from, kWord);
      std::memcpy(to + second, from + second, kWord);
    }
  }

  RecordPick pick_;
  std::int64_t record_;
  std::int64_t from_stride_;
  std::int64_t to_stride_;
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
