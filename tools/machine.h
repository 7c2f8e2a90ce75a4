// What the machine is, as far as copies care. Read from the operating system; nothing is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <restride/device.hpp>

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
  int numa_nodes = 1;
  int threads = 1;  ///< what a large copy takes by default
  std::string threads_from;
  std::vector<std::string> built_isas;  ///< worst first
  std::string chosen_isa;
  std::vector<Cache> caches;
  std::int64_t memory_bytes = 0;
  CudaStatus cuda;
};

/// What RESTRIDE_NUM_THREADS asks for; 0 when it is not set. The library ignores what is no number of threads; the
/// command refuses it. Errors: UsageError.
int threads_from_environment();

Machine describe_machine();

}  // namespace restride::tools
