// The other ways to do a case on the CPU. Each file adds one peer; each peer applies to fewer cases than ours.
//
// Libraries that have a stable C interface are loaded at run time when they are found. Those that need their
// headers are in a module of their own (module.cc), built when their headers are there, so that `restride` itself
// depends on none of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/device.h"
#include "tools/bench/team.h"

namespace restride::bench {

/// A naive loop nest over the merged modes, destination in order, the outermost mode split over the team.
void add_naive_peer(std::vector<Peer>& out, const Case& c, const Team& team);

/// cblas_?omatcopy, one call a matrix; it has no threads.
void add_openblas_peer(std::vector<Peer>& out, const Case& c);
bool has_openblas();

/// What a process of a peer's own is told of the memory to time in.
struct PeerTerms {
  Pages pages = Pages::kSmall;
  std::int64_t cache_bytes = 0;  ///< that rotation leaves behind; 0: none
};

/// numpy.copyto between the case's views, in a process of its own; it has no threads. The Python is RESTRIDE_PYTHON's.
void add_numpy_peer(std::vector<Peer>& out, const Case& c, const PeerTerms& on);
bool has_numpy();

/// torch.Tensor.copy_ between the same views, in the same way; it needs NumPy beside it.
void add_torch_peer(std::vector<Peer>& out, const Case& c, const PeerTerms& on, int threads);
bool has_torch();

/// The interpreter of both, as a shell's word.
std::string python_used();

/// What the module has: HPTT, Eigen and oneDNN, as far as it was built with them.
void add_module_peers(std::vector<Peer>& out, const Case& c, int threads);
std::vector<std::string> module_peer_names();

/// The module's two functions, found by name.
extern "C" {
using AddModulePeers = void (*)(std::vector<Peer>*, const Case*, int threads);
using NameModulePeers = void (*)(std::vector<std::string>*);
}
inline constexpr const char* kAddModulePeers = "restride_bench_add_peers";
inline constexpr const char* kNameModulePeers = "restride_bench_name_peers";

}  // namespace restride::bench
