// `restride info`: what this build and this machine offer.
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <restride/restride.hpp>

#include "tools/commands.h"

namespace restride::tools {

void add_info_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("info", "Show version, instruction sets, cores, caches and devices");
  sub->callback([] { fmt::print("restride {}\n", restride::version()); });
}

}  // namespace restride::tools
