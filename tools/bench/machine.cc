#include "tools/bench/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/bench/commit.h"

namespace restride::bench {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The value behind `key` in a file of "key : value" lines.
std::string value_in(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto start = line.find_first_not_of(" \t", line.find(':') + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::string isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return "x86-64";
#elif defined(__aarch64__)
  return "neon";
#else
  return "unknown";
#endif
}

}  // namespace

std::int64_t last_level_cache_bytes() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string text = first_line("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    if (text.empty()) break;
    std::int64_t bytes = std::strtoll(text.c_str(), nullptr, 10);
    if (text.back() == 'K') bytes <<= 10;
    if (text.back() == 'M') bytes <<= 20;
    largest = std::max(largest, bytes);
  }
  return largest > 0 ? largest : 32 << 20;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

nlohmann::json describe_cpu() {
  return {{"cpu", value_in("/proc/cpuinfo", "model name")},
          {"cores", usable_cores()},
          {"isa", isa()},
          {"cache_bytes", last_level_cache_bytes()},
          {"memory_bytes", static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)}};
}

nlohmann::json describe_run() {
  utsname name{};
  uname(&name);
  const std::time_t now = std::time(nullptr);
  char date[32] = "";
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return {{"os", std::string(name.sysname) + " " + name.release + " " + name.machine},
          {"compiler", compiler},
          {"date", date}};
}

std::string commit() {
  const char* given = std::getenv("RESTRIDE_COMMIT");
  return given != nullptr && *given != '\0' ? given : RESTRIDE_BENCH_COMMIT;
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string out, argument;
  while (std::getline(in, argument, '\0')) out += (out.empty() ? "" : " ") + argument;
  return out;
}

}  // namespace restride::bench
