// What a result file says about where it was measured.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace restride::bench {

/// Bytes of the largest cache that a core sees; 32 MiB where the system does not say.
std::int64_t last_level_cache_bytes();

/// Cores that this process may run on.
int usable_cores();

/// {"cpu": model, "cores", "isa", "cache_bytes", "memory_bytes"}.
nlohmann::json describe_cpu();

/// {"os", "compiler", "date"}: of the run, whatever the device.
nlohmann::json describe_run();

/// The commit that this was built from, "+" behind it when the tree had changes; RESTRIDE_COMMIT overrides it.
std::string commit();

/// The line that started this process, its arguments joined by spaces.
std::string command_line();

}  // namespace restride::bench
