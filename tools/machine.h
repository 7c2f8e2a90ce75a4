// What the machine is, as far as copies care. Read from the operating system; nothing is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace restride::tools {

struct Cache {
  int level = 0;
  std::string type;  ///< "data", "unified"
  std::int64_t bytes = 0;
  int line_bytes = 0;
  int shared_by = 1;  ///< hardware threads
};

struct Machine {
  std::string processor;
  int cores = 1;         ///< hardware threads that are online
  int usable_cores = 1;  ///< those this process may run on
  int quota_cores = 0;   ///< those whose time its control groups grant, rounded up; 0: no limit
  int numa_nodes = 1;
  std::vector<std::string> built_isas;  ///< worst first
  std::string chosen_isa;               ///< the one whose kernels run here
  std::vector<Cache> caches;
  std::int64_t memory_bytes = 0;
};

/// Bytes of the largest cache that a core sees; 32 MiB where the system does not say.
std::int64_t last_level_cache_bytes();

Machine describe_machine();

}  // namespace restride::tools
