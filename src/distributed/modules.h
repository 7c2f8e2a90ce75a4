// Modules of the library, each for another library that the process may have: found by name, loaded, never unloaded.
#pragma once

#include <functional>
#include <string>

namespace restride::distributed {

/// The path of the first library of this process that `is_wanted`, whoever loaded it. Empty: none.
std::string loaded_library(const std::function<bool(const std::string& path)>& is_wanted);

/// The function `symbol` of librestride_NAME.so, whose undefined symbols the library at `path` defines.
/// Errors: UnsupportedError, with the reason `why` one is looked for, and how to get one.
void* module_function(const std::string& name, const char* symbol, const std::string& path, const std::string& why,
                      const std::string& remedy);

}  // namespace restride::distributed
