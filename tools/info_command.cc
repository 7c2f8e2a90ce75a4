// `restride info`: what this build and this machine offer, or what a file holds.
#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/restride.hpp>

#include "tools/commands.h"
#include "tools/io/json_text.h"
#include "tools/io/open_array.h"
#include "tools/io/text.h"
#include "tools/machine.h"
#include "tools/run_options.h"

namespace restride::tools {
namespace {

std::string in_units(std::int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

std::string cuda_version(int v) { return v == 0 ? "none" : fmt::format("{}.{}", v / 1000, v % 1000 / 10); }

void print_cuda(const CudaStatus& cuda) {
  if (cuda.built)
    fmt::print("cuda         built with {} for {}; the driver serves {}\n", cuda_version(cuda.runtime_version),
               cuda.architectures, cuda_version(cuda.driver_version));
  for (const CudaDevice& d : cuda.devices)
    fmt::print("cuda:{}       {}, sm_{}{}, {} multiprocessors, {} of memory, copies at {:.0f} GB/s (expected)\n",
               d.index, d.name, d.cc_major, d.cc_minor, d.sm_count, in_units(d.memory_bytes), d.copy_gbps);
  if (cuda.devices.empty()) fmt::print("cuda         no device, copies run on the CPU: {}\n", cuda.reason);
}

nlohmann::ordered_json cuda_json(const CudaStatus& cuda) {
  nlohmann::ordered_json out;
  out["built"] = cuda.built;
  out["architectures"] = cuda.architectures;
  out["runtime_version"] = cuda.runtime_version;
  out["driver_version"] = cuda.driver_version;
  out["devices"] = nlohmann::ordered_json::array();
  for (const CudaDevice& d : cuda.devices)
    out["devices"].push_back({{"index", d.index},
                              {"name", d.name},
                              {"compute_capability", fmt::format("{}.{}", d.cc_major, d.cc_minor)},
                              {"multiprocessors", d.sm_count},
                              {"memory_bytes", d.memory_bytes},
                              {"l2_bytes", d.l2_bytes},
                              {"copy_gbps_expected", d.copy_gbps}});
  if (cuda.devices.empty()) out["reason"] = cuda.reason;
  return out;
}

/// What a large copy takes by default, and who says so.
struct Threads {
  int count = 1;
  std::string from;
};

Threads default_threads(const Machine& m) {
  if (const int wanted = threads_from_environment(); wanted > 0) return {wanted, "RESTRIDE_NUM_THREADS"};
  if (m.quota_cores > 0 && m.quota_cores < m.usable_cores) return {m.quota_cores, "the CPU quota of its control group"};
  return {m.usable_cores, "the cores this process may use"};
}

void print_text(const Machine& m, const Threads& threads, const CudaStatus& cuda) {
  fmt::print("restride     {}\n", restride::version());
  fmt::print("processor    {}\n", m.processor);
  fmt::print("cores        {} usable of {}, {} NUMA node{}\n", m.usable_cores, m.cores, m.numa_nodes,
             m.numa_nodes == 1 ? "" : "s");
  if (m.quota_cores > 0)
    fmt::print("CPU quota    the time of {} core{}\n", m.quota_cores, m.quota_cores == 1 ? "" : "s");
  fmt::print("threads      {} at most, by {}\n", threads.count, threads.from);
  fmt::print("kernels for  {}; this machine runs {}\n", fmt::join(m.built_isas, ", "), m.chosen_isa);
  for (const Cache& c : m.caches)
    fmt::print("cache        L{} {}, {}, {} byte lines, shared by {} core{}\n", c.level, c.type, in_units(c.bytes),
               c.line_bytes, c.shared_by, c.shared_by == 1 ? "" : "s");
  fmt::print("memory       {}\n", in_units(m.memory_bytes));
  print_cuda(cuda);
}

void print_json(const Machine& m, const Threads& threads, const CudaStatus& cuda) {
  nlohmann::ordered_json out;
  out["version"] = restride::version();
  out["processor"] = m.processor;
  out["cores"] = m.cores;
  out["usable_cores"] = m.usable_cores;
  if (m.quota_cores > 0) out["quota_cores"] = m.quota_cores;
  out["numa_nodes"] = m.numa_nodes;
  out["threads"] = threads.count;
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
  out["cuda"] = cuda_json(cuda);
  fmt::print("{}\n", io::json_text(out));
}

std::string shape_text(const io::ListedArray& a) { return fmt::format("({})", fmt::join(a.extents, ",")); }

void print_arrays(const io::ArrayList& list) {
  std::size_t names = 0, dtypes = 0, shapes = 0;
  for (const io::ListedArray& a : list.arrays) {
    names = std::max(names, std::min<std::size_t>(io::escaped(a.name).size(), 60));
    dtypes = std::max(dtypes, a.dtype.size());
    if (a.problem.empty()) shapes = std::max(shapes, shape_text(a).size());
  }
  for (const io::ListedArray& a : list.arrays) {
    if (names > 0) fmt::print("{:<{}}  ", io::escaped(a.name), names);
    if (!a.problem.empty()) {
      fmt::print("cannot be read: {}\n", io::escaped(a.problem));
      continue;
    }
    fmt::print("{:<{}}  {:<{}}  {} bytes{}{}\n", a.dtype, dtypes, shape_text(a), shapes, a.bytes,
               a.fortran_order ? ", Fortran order" : "",
               a.numpy_dtype.empty() ? "" : fmt::format(", {} in NumPy", io::escaped(a.numpy_dtype)));
  }
}

void print_arrays_json(const std::string& file, const io::ArrayList& list) {
  nlohmann::ordered_json out;
  out["file"] = file;
  out["format"] = list.format;
  out["arrays"] = nlohmann::ordered_json::array();
  for (const io::ListedArray& a : list.arrays) {
    nlohmann::ordered_json row;
    row["name"] = a.name;
    if (!a.dtype.empty()) row["dtype"] = a.dtype;
    if (!a.numpy_dtype.empty()) row["numpy_dtype"] = a.numpy_dtype;
    if (a.problem.empty()) row["shape"] = a.extents;
    row["bytes"] = a.bytes;
    row["order"] = a.fortran_order ? "F" : "C";
    if (!a.problem.empty()) row["problem"] = a.problem;
    out["arrays"].push_back(std::move(row));
  }
  fmt::print("{}\n", io::json_rows(out));
}

struct InfoArguments {
  std::string file;
  bool json = false;
};

void run_info(const InfoArguments& a) {
  if (!a.file.empty()) {
    const io::ArrayList list = io::list_arrays(a.file);
    return a.json ? print_arrays_json(a.file, list) : print_arrays(list);
  }
  const Machine m = describe_machine();
  const Threads threads = default_threads(m);
  const CudaStatus cuda = cuda_status();
  a.json ? print_json(m, threads, cuda) : print_text(m, threads, cuda);
}

}  // namespace

void add_info_command(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("info", "Show version, instruction sets, cores, caches and devices; or a file's arrays");
  auto a = std::make_shared<InfoArguments>();
  sub->add_option("FILE", a->file, "List the arrays of this .npy, .npz or .safetensors file instead")->type_name("");
  sub->add_flag("--json", a->json, "As JSON");
  sub->footer(
      "\nExamples:\n  restride info\n  restride info model.safetensors\n  restride info --json | python3 -m json.tool");
  sub->callback([a] { run_info(*a); });
}

}  // namespace restride::tools
