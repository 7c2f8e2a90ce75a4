#include "tools/bench/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/bench/commit.h"
#include "tools/machine.h"

namespace restride::bench {
namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-_./:,=+@%", c) != nullptr;
}

/// A word as a shell reads it back.
std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out(1, '\'');
  for (const char c : word) {
    if (c == '\'') out.append("'\\'");  // ends the quotes, is a quote, begins them again
    out.push_back(c);
  }
  out.push_back('\'');
  return out;
}

}  // namespace

nlohmann::json describe_cpu() {
  const tools::Machine m = tools::describe_machine();
  return {{"cpu", m.processor},
          {"cores", m.usable_cores},
          {"isa", m.chosen_isa},
          {"cache_bytes", tools::last_level_cache_bytes()},
          {"memory_bytes", m.memory_bytes}};
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
  while (std::getline(in, argument, '\0')) out.append(out.empty() ? "" : " ").append(shell_word(argument));
  return out;
}

}  // namespace restride::bench
