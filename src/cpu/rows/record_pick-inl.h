// Picking records that lie in one stride into a dense buffer: pixels of which some channels are left out, reversed,
// or taken from the last to the first. Included once per instruction set.
//
// One shuffle, worked out once, takes as many whole records as one vector of source holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <hwy/highway.h>

#if defined(RESTRIDE_CPU_ROWS_RECORD_PICK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RESTRIDE_CPU_ROWS_RECORD_PICK_INL_H_
#undef RESTRIDE_CPU_ROWS_RECORD_PICK_INL_H_
#else
#define RESTRIDE_CPU_ROWS_RECORD_PICK_INL_H_
#endif

#include "src/cpu/rows/args.h"
#include "src/cpu/simd/records-inl.h"
#include "src/cpu/simd/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace restride::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

class RecordPick {
 public:
  /// Bytes behind the last record that a pick may write.
  static constexpr std::int64_t kRoom = 64;

  explicit RecordPick(const RowsArgs& a) : record_(a.dst_unit), stride_(a.row_src_stride) {
    const std::int64_t cell = std::abs(stride_);
    at_once_ = (kVector - record_) / cell + 1;
    fill_vector_ = records_that_span(kVector, record_, cell);
    // Cells that go downwards are read from the end of the first record back, so that nothing behind it is touched.
    lead_ = stride_ < 0 ? record_ - kVector : 0;
    for (std::int64_t i = 0; i < kVector; ++i) {
      const std::int64_t k = i / record_;
      const std::int64_t from = k * stride_ - lead_ + byte_in_cell(a.record, i % record_);
      index_[i] = static_cast<std::uint8_t>(k < at_once_ ? from : 0);
    }
  }

  /// n records from `from` (the first one), densely to `to`, and up to kRoom bytes more. Reads nothing outside the
  /// bytes they span.
  HWY_INLINE void take(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::int64_t n) const {
    for (; n >= fill_vector_; n -= at_once_, to += at_once_ * record_, from += at_once_ * stride_)
      step(to, from + lead_);
    if (n <= 0) return;
    // The rest from a copy with a vector's room on both sides.
    alignas(64) std::uint8_t rest[3 * kVector];
    const std::int64_t below = stride_ < 0 ? (n - 1) * -stride_ : 0;
    std::memcpy(rest + kVector, from - below, static_cast<std::size_t>((n - 1) * std::abs(stride_) + record_));
    from = rest + kVector + below;
    for (; n > 0; n -= at_once_, to += at_once_ * record_, from += at_once_ * stride_) step(to, from + lead_);
  }

  /// The same, and writes nothing behind the last record.
  HWY_INLINE void take_exactly(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from,
                               std::int64_t n) const {
    for (; n >= fill_vector_ && n * record_ >= kVector;
         n -= at_once_, to += at_once_ * record_, from += at_once_ * stride_)
      step(to, from + lead_);
    alignas(64) std::uint8_t last[3 * kVector + kRoom];
    take(last, from, n);
    copy_bytes(to, last, static_cast<std::size_t>(n * record_));
  }

 private:
#if HWY_TARGET <= HWY_AVX3_DL
  static constexpr std::int64_t kVector = 64;
  HWY_INLINE void step(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from) const {
    const hn::CappedTag<std::uint8_t, 64> d;
    using V = hn::Vec<decltype(d)>;
    hn::StoreU(V{_mm512_permutexvar_epi8(hn::Load(d, index_).raw, hn::LoadU(d, from).raw)}, d, to);
  }
#elif HWY_TARGET != HWY_SCALAR
  static constexpr std::int64_t kVector = 16;
  HWY_INLINE void step(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from) const {
    const hn::CappedTag<std::uint8_t, 16> d;
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, from), hn::Load(d, index_)), d, to);
  }
#else
  static constexpr std::int64_t kVector = 16;
  HWY_INLINE void step(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from) const {
    for (std::int64_t i = 0; i < kVector; ++i) to[i] = from[index_[i]];
  }
#endif
  std::int64_t record_;
  std::int64_t stride_;
  std::int64_t fill_vector_ = 1;  ///< records that span a vector or more
  std::int64_t at_once_ = 1;      ///< records of a step
  std::int64_t lead_ = 0;         ///< bytes from the first of them to where its vector is read
  alignas(64) std::uint8_t index_[64] = {};
};

}  // namespace HWY_NAMESPACE
}  // namespace restride::cpu
HWY_AFTER_NAMESPACE();

#endif
