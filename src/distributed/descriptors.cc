#include "src/distributed/descriptors.h"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <restride/error.hpp>

namespace restride::distributed {
namespace {

struct Address {
  sockaddr_un value{};
  socklen_t bytes = 0;
};

/// A null byte in front makes a name abstract.
Address address_of(const DescriptorSocket::Name& name) {
  static_assert(sizeof(DescriptorSocket::Name) + 1 <= sizeof(sockaddr_un::sun_path));
  Address out;
  out.value.sun_family = AF_UNIX;
  std::memcpy(out.value.sun_path + 1, name.data(), name.size());
  out.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

[[noreturn]] void fail(const char* doing, int error) {
  throw UnsupportedError(
      fmt::format("{} failed: {}. Memory that is mapped in pieces (ncclMemAlloc) is shared between processes by a Unix "
                  "socket; use memory of cudaMalloc, or plan with NCCL and Method::kMessages",
                  doing, std::strerror(error)));
}

/// Room for what the kernel puts beside a text.
struct alignas(cmsghdr) Beside {
  char bytes[CMSG_SPACE(sizeof(int) * DescriptorSocket::kMostFiles) + CMSG_SPACE(sizeof(ucred))];
};

}  // namespace

DescriptorSocket::DescriptorSocket() {
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) fail("making a socket", errno);
  std::random_device random;
  const std::string name = fmt::format("restride{:08x}{:08x}", random(), random());
  std::copy_n(name.data(), std::min(name.size(), name_.size()), name_.data());
  const Address mine = address_of(name_);
  const int on = 1;
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&mine.value), mine.bytes) != 0 ||
      setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    const int error = errno;
    close(socket_);
    fail("naming a socket", error);
  }
}

DescriptorSocket::~DescriptorSocket() { close(socket_); }

bool DescriptorSocket::send(const Name& to, std::span<const std::byte> text, std::span<const int> files) {
  if (files.size() > kMostFiles || text.size() > kMostBytes) throw InternalError("a parcel is too large");
  Address theirs = address_of(to);
  iovec part{const_cast<std::byte*>(text.data()), text.size()};
  Beside beside{};
  msghdr message{};
  message.msg_name = &theirs.value;
  message.msg_namelen = theirs.bytes;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = beside.bytes;
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
  }
  while (sendmsg(socket_, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) return false;
    if (errno != EINTR) fail("handing memory to another process", errno);
  }
  return true;
}

std::optional<DescriptorSocket::Parcel> DescriptorSocket::take() {
  Parcel out;
  out.text.resize(kMostBytes);
  iovec part{out.text.data(), out.text.size()};
  Beside beside{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes;
  message.msg_controllen = sizeof beside.bytes;
  ssize_t bytes = 0;
  while ((bytes = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR) fail("taking memory of another process", errno);
  }
  out.text.resize(static_cast<std::size_t>(bytes));
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET) continue;
    if (head->cmsg_type == SCM_RIGHTS) {
      out.files.resize((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(out.files.data(), CMSG_DATA(head), out.files.size() * sizeof(int));
    } else if (head->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(head), sizeof sender);
      out.process = sender.pid;
    }
  }
  return out;
}

}  // namespace restride::distributed
