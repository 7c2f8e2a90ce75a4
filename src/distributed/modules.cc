#include "src/distributed/modules.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <vector>

#include <restride/distributed.hpp>

namespace restride::distributed {
namespace {

std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&mpi), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

std::string loaded_library(const std::function<bool(const std::string& path)>& is_wanted) {
  struct Search {
    const std::function<bool(const std::string& path)>& is_wanted;
    std::string found;
  } search{is_wanted, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        auto& s = *static_cast<Search*>(out);
        if (!path.empty() && s.is_wanted(path)) s.found = path;
        return s.found.empty() ? 0 : 1;
      },
      &search);
  return search.found;
}

void* module_function(const std::string& name, const char* symbol, const std::string& path, const std::string& why,
                      const std::string& remedy) {
  // The module names no library: it gets its symbols from the one that the process has, wherever it came from.
  dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  const std::string file = "librestride_" + name + ".so", here = folder_of_this_library();
  std::vector<std::string> folders{here, here + "/restride", here + "/../lib/restride"};
#ifdef RESTRIDE_MODULE_FOLDER
  folders.emplace_back(RESTRIDE_MODULE_FOLDER);
#endif
  if (const char* set = std::getenv("RESTRIDE_MODULES"); set != nullptr && *set != '\0')
    folders.insert(folders.begin(), set);
  std::string tried;
  for (const std::string& folder : folders) {
    const std::string path = fmt::format("{}/{}", folder, file);
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for the process's life
    if (module == nullptr) {
      tried.append("; ").append(dlerror());
      continue;
    }
    if (void* function = dlsym(module, symbol)) return function;
    tried.append("; ").append(path).append(" is no module of restride");
  }
  throw UnsupportedError(why + ", and " + file + " is not found" + tried + ". " + remedy + ", or set RESTRIDE_MODULES");
}

}  // namespace restride::distributed
