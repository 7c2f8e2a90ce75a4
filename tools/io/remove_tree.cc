#include "tools/io/remove_tree.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace restride::io {
namespace {

// As the kernel fills them in: opendir and readdir allocate.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

/// True when it is gone.
bool remove_at(int parent, const char* name) noexcept {
  if (::unlinkat(parent, name, 0) == 0) return true;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(Entry) char entries[2048];
  for (bool some = true; some;) {  // what was listed is gone then, so each listing begins anew
    some = false;
    ::lseek(folder, 0, SEEK_SET);
    const long n = ::syscall(SYS_getdents64, folder, entries, sizeof(entries));
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      at += entry->bytes;
      const bool own = std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0;
      if (!own && remove_at(folder, entry->name)) some = true;
    }
  }
  ::close(folder);
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

}  // namespace

void remove_tree(const char* path) noexcept { (void)remove_at(AT_FDCWD, path); }

}  // namespace restride::io
