#include "tools/bench/cpu_device.h"

namespace restride::bench {

std::vector<Peer> CpuDevice::peers(const Case&) { return {}; }
std::vector<std::string> CpuDevice::peer_names() const { return {}; }

}  // namespace restride::bench
