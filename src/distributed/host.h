// Which host this process runs on.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace restride::distributed {

/// The same in all processes of a host until it starts again.
inline std::uint64_t this_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace restride::distributed
