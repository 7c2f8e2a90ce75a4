#include "src/base/huge_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace restride::base {

bool huge_pages_are_off(const char* setting) noexcept {
  const int fd = ::open(setting, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;  // madvise tells
  char text[64];
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[length > 0 ? length : 0] = '\0';
  return std::strstr(text, "[never]") != nullptr;
}

}  // namespace restride::base
