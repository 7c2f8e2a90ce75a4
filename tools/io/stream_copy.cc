#include "tools/io/stream_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "tools/huge_pages.h"
#include "tools/io/box.h"
#include "tools/io/device_stage.h"
#include "tools/io/measure_apart.h"
#include "tools/io/signals.h"

namespace restride::io {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kSmallestBuffer = 1 << 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Zeroed pages of our own.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::uint64_t bytes) : bytes_(bytes) {
    void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) data_ = static_cast<std::uint8_t*>(p);
    if (data_ != nullptr) tools::ask_huge_pages(data_, bytes);
  }
  Buffer(Buffer&& o) noexcept { *this = std::move(o); }
  Buffer& operator=(Buffer&& o) noexcept {  // `o` is a temporary and releases what we had
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  std::uint8_t* data() const noexcept { return data_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

 private:
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

void swap_words(std::uint8_t* p, std::uint64_t bytes, std::int64_t word) {
  for (std::uint64_t at = 0; at < bytes; at += static_cast<std::uint64_t>(word)) std::reverse(p + at, p + at + word);
}

class Stream {
 public:
  Stream(const InputFile& file, const Layout& src, std::int64_t swap_bytes, const Layout& dst,
         const std::function<void(std::uint64_t, Bytes)>& write, const StreamOptions& options)
      : file_(file), src_(src), dst_(dst), swap_bytes_(swap_bytes), write_(write), options_(options) {
    const bool cast = !(src.element == dst.element);
    staged_ = cast && swap_bytes != 0;
    swap_after_ = !cast && swap_bytes != 0;
  }

  StreamReport run() {
    if (dst_.elements() == 0) return report_;
    name_mapped_file(file_.path());
    take_memory();
    if (options_.copy.device == DeviceKind::kCuda && options_.copy.reshape)
      throw UnsupportedError("a new shape that cuts across the input's modes is copied here; leave out --device cuda");
    if (options_.copy.device == DeviceKind::kCuda)
      device_ = std::make_unique<DeviceStage>(  // its part takes what is staged as well
          report_.buffer_bytes, std::max(report_.buffer_bytes, std::min(input_bytes_, span_bytes(src_))),
          options_.copy.cuda_device);
    if (options_.copy.reshape) {
      make_whole();
      file_.require_unchanged();
      return report_;
    }
    const auto order = slowest_first(dst_);
    split_box(
        whole(dst_), order, [this](const Box& b) { return piece_bytes(b); }, report_.buffer_bytes,
        [this](const Box& b) { make_piece(b); });
    file_.require_unchanged();
    return report_;
  }

 private:
  // Output bytes of a piece, or those of its staged input where they are more.
  std::uint64_t piece_bytes(const Box& box) const {
    std::uint64_t n = 1;
    for (const std::int64_t e : box.extent) n *= static_cast<std::uint64_t>(e);
    return n * static_cast<std::uint64_t>(staged_ ? std::max(dst_.element.size_bytes, src_.element.size_bytes)
                                                  : dst_.element.size_bytes);
  }

  // One buffer for the output, one for staging, and room to map the input: all of the file where the address
  // space allows (so that a piece may look at distant rows), else as much as a buffer holds (ulimit -v).
  void take_memory() {
    const std::uint64_t smallest =
        std::max<std::uint64_t>(kSmallestBuffer, static_cast<std::uint64_t>(dst_.element.size_bytes));
    std::uint64_t size = std::max(std::min(options_.buffer_bytes, piece_bytes(whole(dst_))), smallest);
    const auto [first, last] = byte_range(src_);
    whole_file_ = Mapping(file_, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
    if (!whole_file_ && errno != ENOMEM) refuse_unmapped(file_.path());  // parts of it could not be mapped either
    input_bytes_ = std::max(options_.buffer_bytes, smallest);
    if (whole_file_ && allocate(size, 0)) return;
    whole_file_ = Mapping();
    while (!allocate(size, size)) {
      if (size == smallest)
        throw MemoryError(fmt::format("no memory for a buffer of {} MiB; raise the memory limit", size >> 20));
      size = std::max(size / 2, smallest);
    }
    input_bytes_ = size;  // the window that there is room for
  }

  // False when the buffers, `window` bytes to map and what the library itself needs do not fit.
  bool allocate(std::uint64_t size, std::uint64_t window) {
    constexpr std::uint64_t kOwnNeeds = 64 << 20;  // thread stacks, mostly
    const Buffer reserve(window + kOwnNeeds);
    output_ = Buffer(size);
    staging_ = staged_ ? Buffer(size) : Buffer();
    report_.buffer_bytes = size;
    return reserve && output_ && (!staged_ || staging_);
  }

  void make_piece(const Box& box) {
    const Layout in_file = restrict_to(dst_, box);
    const auto start = Clock::now();
    const std::uint64_t bytes = static_cast<std::uint64_t>(in_file.bytes());
    // The piece begins at the buffer's first byte; its layout in the file only differs by the offset.
    Layout piece = in_file;
    piece.offset_bytes = 0;
    if (staged_) {
      Layout staged = contiguous(src_.element, std::span<const std::int64_t>(box.extent.data(), box.extent.size()));
      gather(box, staged, staging_.data(), false);
      swap_words(staging_.data(), static_cast<std::uint64_t>(staged.bytes()), swap_bytes_);
      move(Tensor{output_.data(), piece}, ConstTensor{staging_.data(), staged}, device_ != nullptr);
    } else {
      gather(box, piece, output_.data(), device_ != nullptr);
    }
    if (device_) device_->download(output_.data(), bytes);
    if (swap_after_) swap_words(output_.data(), bytes, swap_bytes_);
    report_.copy_seconds += seconds_since(start) - measured_;
    report_.measure_seconds += std::exchange(measured_, 0);

    const auto write_start = Clock::now();
    write_(static_cast<std::uint64_t>(in_file.offset_bytes), Bytes(output_.data(), bytes));
    report_.write_seconds += seconds_since(write_start);
    ++report_.pieces;
    if (options_.progress)
      options_.progress(static_cast<std::uint64_t>(in_file.offset_bytes) + bytes,
                        static_cast<std::uint64_t>(dst_.bytes()));
  }

  // Elements pair by their order, so no part of the output is a box of the input.
  void make_whole() {
    if (report_.buffer_bytes < piece_bytes(whole(dst_)) || !whole_file_)
      throw MemoryError(fmt::format("no memory for a copy of {} MiB in one piece; raise the memory limit",
                                    piece_bytes(whole(dst_)) >> 20));
    const auto start = Clock::now();
    const std::uint64_t bytes = static_cast<std::uint64_t>(dst_.bytes());
    ConstTensor from{whole_file_.origin(), src_};
    Options here = options_.copy;
    here.device = DeviceKind::kCpu;
    if (staged_) {
      std::vector<std::int64_t> extents;
      for (const Mode& m : src_.modes) extents.push_back(m.extent);
      const Layout staged = contiguous(src_.element, extents);
      copy(Tensor{staging_.data(), staged}, from, here);
      swap_words(staging_.data(), static_cast<std::uint64_t>(staged.bytes()), swap_bytes_);
      from = ConstTensor{staging_.data(), staged};
    }
    const Tensor to{output_.data(), dst_};
    report_.measure_seconds += measure_apart(to, from, here);
    copy(to, from, here);
    if (swap_after_) swap_words(output_.data(), bytes, swap_bytes_);
    report_.copy_seconds += seconds_since(start) - report_.measure_seconds;
    const auto write_start = Clock::now();
    write_(0, Bytes(output_.data(), bytes));
    report_.write_seconds += seconds_since(write_start);
    ++report_.pieces;
  }

  // One call of the library, here or on the device; there `to` is a layout of the output piece.
  void move(const Tensor& to, const ConstTensor& from, bool on_device) {
    if (on_device) {
      measured_ += device_->copy_in(to.layout, from, options_.copy);
      return;
    }
    Options here = options_.copy;
    here.device = DeviceKind::kCpu;
    if (device_) here.family = {};  // a forced family is meant for the device
    measured_ += measure_apart(to, from, here);
    copy(to, from, here);
  }

  // Fills `target` (the box's elements as `layout` lays them out) from the mapped file, in parts whose pages fit, or
  // whose spans fit into the device's memory.
  void gather(const Box& box, const Layout& layout, std::uint8_t* target, bool on_device) {
    const auto cost = [this, on_device](const Box& b) {
      const Layout part = restrict_to(src_, b);
      return whole_file_ && !on_device ? paged_bytes(part) : span_bytes(part);
    };
    const auto order = slowest_first(src_);
    split_box(box, order, cost, input_bytes_, [&](const Box& part) {
      const Layout from = restrict_to(src_, part);
      Box inner = part;
      for (std::size_t m = 0; m < inner.first.size(); ++m) inner.first[m] -= box.first[m];
      const Tensor to{target, restrict_to(layout, inner)};
      if (whole_file_) {
        move(to, ConstTensor{whole_file_.origin(), from}, on_device);
        if (file_.size() > input_bytes_) whole_file_.drop();
        return;
      }
      const auto [first, last] = byte_range(from);
      const Mapping window(file_, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
      if (!window) refuse_unmapped(file_.path());
      move(to, ConstTensor{window.origin(), from}, on_device);
    });
  }

  const InputFile& file_;
  const Layout& src_;
  const Layout& dst_;
  std::int64_t swap_bytes_;
  const std::function<void(std::uint64_t, Bytes)>& write_;
  const StreamOptions& options_;
  bool staged_ = false;      // big-endian and a cast: words are swapped before they are converted
  bool swap_after_ = false;  // big-endian only: swapped in the output buffer
  Mapping whole_file_;
  Buffer output_, staging_;
  std::uint64_t input_bytes_ = 0;        // of input looked at, or sent to the GPU, at a time
  std::unique_ptr<DeviceStage> device_;  // when the copy runs on a GPU
  double measured_ = 0;                  // seconds of the piece at hand
  StreamReport report_;
};

}  // namespace

void StreamReport::add(const StreamReport& other) {
  pieces += other.pieces;
  buffer_bytes = std::max(buffer_bytes, other.buffer_bytes);
  measure_seconds += other.measure_seconds;
  copy_seconds += other.copy_seconds;
  write_seconds += other.write_seconds;
}

StreamReport stream_copy(const InputFile& file, const Layout& src, std::int64_t swap_bytes, const Layout& dst,
                         const std::function<void(std::uint64_t, Bytes)>& write, const StreamOptions& options) {
  return Stream(file, src, swap_bytes, dst, write, options).run();
}

}  // namespace restride::io
