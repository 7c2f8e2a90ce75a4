// Hands open files to other processes of the host. Memory that a driver maps in pieces is shared so, and no other way:
// /proc does not open such files again, and pidfd_getfd asks for the right to trace the other process. No tensor's byte
// goes this way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace restride::distributed {

class DescriptorSocket {
 public:
  /// Of a socket, in the abstract namespace of the host: no file to be left.
  using Name = std::array<char, 24>;
  static constexpr std::size_t kMostFiles = 128;   ///< in one parcel; the kernel takes 253
  static constexpr std::size_t kMostBytes = 4096;  ///< of a parcel's text

  /// Errors: UnsupportedError.
  DescriptorSocket();
  ~DescriptorSocket();
  DescriptorSocket(const DescriptorSocket&) = delete;
  DescriptorSocket& operator=(const DescriptorSocket&) = delete;

  const Name& name() const noexcept { return name_; }

  /// False where the other's queue is full: it must take something first. Errors: UnsupportedError, when it is gone,
  /// say.
  bool send(const Name& to, std::span<const std::byte> text, std::span<const int> files);

  struct Parcel {
    std::int64_t process = 0;  ///< the sender, as the kernel knows it
    std::vector<std::byte> text;
    std::vector<int> files;  ///< the caller's to close
  };
  /// What has come, if anything. Does not wait.
  std::optional<Parcel> take();

 private:
  int socket_ = -1;
  Name name_{};
};

}  // namespace restride::distributed
