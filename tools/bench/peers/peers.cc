#include "tools/bench/peers/peers.h"

#include <dlfcn.h>

#include <filesystem>

#include "tools/bench/cpu_device.h"

namespace restride::bench {
namespace {

/// The module lies beside the program; null when it was not built.
void* module() {
  static void* const library = [] {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto path = program.parent_path() / "librestride_bench_peers.so";
    return error ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

template <class Function>
Function find(const char* name) {
  return module() == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(module(), name));
}

}  // namespace

void add_module_peers(std::vector<Peer>& out, const Case& c, int threads) {
  if (const auto add = find<AddModulePeers>(kAddModulePeers)) add(&out, &c, threads);
}

std::vector<std::string> module_peer_names() {
  std::vector<std::string> out;
  if (const auto name = find<NameModulePeers>(kNameModulePeers)) name(&out);
  return out;
}

std::vector<Peer> CpuDevice::peers(const Case& c) {
  std::vector<Peer> out;
  add_naive_peer(out, c, team_);
  add_openblas_peer(out, c);
  add_module_peers(out, c, team_.size());
  add_numpy_peer(out, c, {pages_, cache_bytes_});
  add_torch_peer(out, c, {pages_, cache_bytes_}, team_.size());
  return out;
}

std::vector<std::string> CpuDevice::peer_names() const {
  std::vector<std::string> out{"naive"};
  if (has_openblas()) out.push_back("OpenBLAS");
  for (std::string& name : module_peer_names()) out.push_back(std::move(name));
  if (has_numpy()) out.push_back("numpy");
  if (has_torch()) out.push_back("torch");
  return out;
}

}  // namespace restride::bench
