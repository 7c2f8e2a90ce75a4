// `restride info`: what this build and this machine offer.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/restride.hpp>

#include "tools/commands.h"
#include "tools/machine.h"

namespace restride::tools {
namespace {

std::string in_units(std::int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

void print_text(const Machine& m) {
  fmt::print("restride     {}\n", restride::version());
  fmt::print("processor    {}\n", m.processor);
  fmt::print("cores        {} usable of {}, {} NUMA node{}\n", m.usable_cores, m.cores, m.numa_nodes,
             m.numa_nodes == 1 ? "" : "s");
  fmt::print("threads      {} at most, by {}\n", m.threads, m.threads_from);
  fmt::print("kernels for  {}; this machine runs {}\n", fmt::join(m.built_isas, ", "), m.chosen_isa);
  for (const Cache& c : m.caches)
    fmt::print("cache        L{} {}, {}, {} byte lines, shared by {} core{}\n", c.level, c.type, in_units(c.bytes),
               c.line_bytes, c.shared_by, c.shared_by == 1 ? "" : "s");
  fmt::print("memory       {}\n", in_units(m.memory_bytes));
  for (const std::string& d : m.cuda_devices) fmt::print("cuda         {}\n", d);
  if (m.cuda_devices.empty()) fmt::print("cuda         none: {}\n", m.no_cuda_because);
}

void print_json(const Machine& m) {
  nlohmann::ordered_json out;
  out["version"] = restride::version();
  out["processor"] = m.processor;
  out["cores"] = m.cores;
  out["usable_cores"] = m.usable_cores;
  out["numa_nodes"] = m.numa_nodes;
  out["threads"] = m.threads;
  out["isas_built"] = m.built_isas;
  out["isa"] = m.chosen_isa;
  out["caches"] = nlohmann::ordered_json::array();
  for (const Cache& c : m.caches)
    out["caches"].push_back({{"level", c.level},
                             {"type", c.type},
                             {"bytes", c.bytes},
                             {"line_bytes", c.line_bytes},
                             {"shared_by", c.shared_by}});
  out["memory_bytes"] = m.memory_bytes;
  out["cuda_devices"] = m.cuda_devices;
  if (m.cuda_devices.empty()) out["no_cuda_because"] = m.no_cuda_because;
  fmt::print("{}\n", out.dump(2));
}

}  // namespace

void add_info_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("info", "Show version, instruction sets, cores, caches and devices");
  auto json = std::make_shared<bool>(false);
  sub->add_flag("--json", *json, "As JSON");
  sub->callback([json] {
    const Machine m = describe_machine();
    *json ? print_json(m) : print_text(m);
  });
}

}  // namespace restride::tools
