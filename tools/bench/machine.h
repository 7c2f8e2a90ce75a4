// What a result file says about where it was measured.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace restride::bench {

/// {"cpu": model, "cores", "isa", "cache_bytes", "memory_bytes"}.
nlohmann::json describe_cpu();

/// {"os", "compiler", "date"}: of the run, whatever the device.
nlohmann::json describe_run();

/// The commit that this was built from, "+" behind it when the tree had changes; RESTRIDE_COMMIT overrides it.
std::string commit();

/// The line that started this process, as a shell reads it back.
std::string command_line();

}  // namespace restride::bench
