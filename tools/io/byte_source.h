// Where parsers read from: a file, a part of one, or memory (tests and fuzzers).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <restride/error.hpp>

namespace restride::io {

using Bytes = std::span<const std::uint8_t>;

/// Bytes at positions 0 .. size()-1. Reading is const and may happen from many threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const noexcept = 0;

  /// Fills `out` from `offset`. Errors: ParseError when the range ends behind the source, IoError.
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    if (offset > size() || out.size() > size() - offset)
      throw ParseError("the file ends after " + std::to_string(size()) + " bytes, but byte " +
                       std::to_string(offset + out.size()) + " is needed; it is truncated or not of this format");
    do_read(offset, out);
  }
  /// The same into a new vector. The range is checked before anything is allocated.
  std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t count) const {
    if (offset > size() || count > size() - offset)
      read(offset, std::span<std::uint8_t>(static_cast<std::uint8_t*>(nullptr), count));
    std::vector<std::uint8_t> out(count);
    read(offset, std::span<std::uint8_t>(out));
    return out;
  }

 private:
  virtual void do_read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;
};

/// Bytes in memory, not owned.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }

 private:
  void do_read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = bytes_[offset + i];
  }
  Bytes bytes_;
};

/// Bytes [first, first + count) of another source, which must outlive it.
class SubSource final : public ByteSource {
 public:
  SubSource(const ByteSource& parent, std::uint64_t first, std::uint64_t count)
      : parent_(parent), first_(first), count_(count) {}
  std::uint64_t size() const noexcept override { return count_; }

 private:
  void do_read(std::uint64_t offset, std::span<std::uint8_t> out) const override { parent_.read(first_ + offset, out); }
  const ByteSource& parent_;
  std::uint64_t first_, count_;
};

/// An unsigned little-endian integer of `bytes` bytes at `p`.
inline std::uint64_t load_le(const std::uint8_t* p, int bytes) noexcept {
  std::uint64_t v = 0;
  for (int i = bytes; i-- > 0;) v = (v << 8) | p[i];
  return v;
}

/// Appends it.
inline void append_le(std::string& out, std::uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((v >> (8 * i)) & 0xff));
}

}  // namespace restride::io
