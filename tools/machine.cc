#include "tools/machine.h"

#include <hwy/highway.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "src/cpu/team/quota.h"

namespace restride::tools {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The number that `text` begins with, 48 of "48K"; 0 where there is none.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int count_of_list(const std::string& list) {  // "0-3,8" is five
  int count = 0;
  for (const char* p = list.c_str(); std::isdigit(static_cast<unsigned char>(*p));) {
    char* end = nullptr;
    const long first = std::strtol(p, &end, 10);
    const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
    count += static_cast<int>(last - first + 1);
    p = *end == ',' ? end + 1 : end;
  }
  return std::max(count, 1);
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown";
}

std::vector<Cache> read_caches() {
  std::vector<Cache> caches;
  for (int i = 0;; ++i) {
    const fs::path dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i);
    const std::string level = first_line(dir / "level");
    if (level.empty()) return caches;
    Cache c;
    c.level = static_cast<int>(leading_number(level));
    c.type = first_line(dir / "type");
    for (char& ch : c.type) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    if (c.type == "instruction") continue;
    c.bytes = leading_number(first_line(dir / "size")) << 10;  // "48K"
    c.line_bytes = static_cast<int>(leading_number(first_line(dir / "coherency_line_size")));
    c.shared_by = count_of_list(first_line(dir / "shared_cpu_list"));
    caches.push_back(c);
  }
}

int count_numa_nodes() {
  int nodes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename();
    nodes += name.starts_with("node") && name.size() > 4 && std::isdigit(static_cast<unsigned char>(name[4]));
  }
  return std::max(nodes, 1);
}

void read_isas(Machine& m) {
  // Highway's targets are bits; better ones have lower bits. HWY_TARGETS is what kernels are compiled for.
  std::optional<std::int64_t> best;
  const std::int64_t supported = static_cast<std::int64_t>(hwy::SupportedTargets());
  for (int bit = 62; bit >= 0; --bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((static_cast<std::int64_t>(HWY_TARGETS) & target) == 0) continue;
    m.built_isas.emplace_back(hwy::TargetName(target));
    if ((supported & target) != 0) best = target;
  }
  m.chosen_isa = best ? hwy::TargetName(*best) : "portable code";
}

int online_cores() { return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))); }

int usable_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return online_cores();
}

}  // namespace

std::int64_t last_level_cache_bytes() {
  std::int64_t largest = 0;
  for (const Cache& c : read_caches()) largest = std::max(largest, c.bytes);
  return largest > 0 ? largest : 32 << 20;
}

Machine describe_machine() {
  Machine m;
  m.processor = processor_name();
  m.cores = online_cores();
  m.usable_cores = usable_cores();
  m.quota_cores = cpu::cores_by_quota();
  m.numa_nodes = count_numa_nodes();
  read_isas(m);
  m.caches = read_caches();
  m.memory_bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return m;
}

}  // namespace restride::tools
