#include "src/api/machines.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include <restride/error.hpp>

#include "src/base/log.h"
#include "src/base/text_file.h"

namespace restride::api {
namespace {

constexpr base::JsonLimits kLimits{1 << 20, 8};

std::string_view variable(const char* name) noexcept {
  const char* value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

/// The file of this process, and what came of it.
struct Read {
  std::string path;
  std::string error;
  std::optional<MachineFile> file;
  cpu::CpuMachine cpu = cpu::this_cpu();

  Read() noexcept {
    try {
      path = machine_file_path();
      if (path.empty()) return;
      std::string why;
      const std::optional<std::string> text = base::read_text_file(path, &why);
      if (!text) throw ParseError(why);
      file.emplace(*text);
      if (file->cpu() != nullptr) cpu = *file->cpu();
    } catch (const Error& e) {
      file.reset();
      error = e.what();
    } catch (...) {
      file.reset();
      error = "no memory";  // short enough to need none
    }
    if (!error.empty())
      base::log(
          "machine file {} is not used: {}; plans go by the nearest known machine's numbers; write it anew with "
          "'restride tune', or remove it",
          path, error);
  }
};

}  // namespace

MachineFile::MachineFile(std::string_view text) : in_(base::parse_json(text, kLimits)) {
  if (in_.object() == nullptr) throw ParseError("no JSON object");
  const base::JsonValue* format = in_.find("restride_machine");
  if (format == nullptr) throw ParseError("no 'restride_machine', the number of its format");
  if (format->integer() != kMachineFormat)
    throw ParseError(
        fmt::format("'restride_machine' is another format than {}, which this version reads", kMachineFormat));
  for (const base::JsonMember& m : *in_.object()) {
    if (m.key == "cpu") {
      cpu_ = cpu::cpu_machine_from(m.value, cpu::this_cpu());
      has_cpu_ = true;
    } else if (m.key == "gpus") {
      if (m.value.list() == nullptr) throw ParseError("'gpus' is no list");
      for (const base::JsonValue& gpu : *m.value.list()) gpus_.push_back(cuda::gpu_numbers_from(gpu));
    } else if (m.key != "restride_machine") {
      throw ParseError(fmt::format("'{}' is neither 'cpu' nor 'gpus'", m.key));
    }
  }
}

std::string machine_file_text(const cpu::CpuMachine* cpu, std::span<const cuda::GpuNumbers> gpus) {
  std::string out = fmt::format("{{\"restride_machine\": {}", kMachineFormat);
  if (cpu != nullptr) out += ",\n \"cpu\": " + cpu::to_json(*cpu);
  for (std::size_t i = 0; i < gpus.size(); ++i) out += (i == 0 ? ",\n \"gpus\": [" : ",\n  ") + cuda::to_json(gpus[i]);
  return out + (gpus.empty() ? "}\n" : "]}\n");
}

std::string machine_file_home() {
  constexpr std::string_view kBelow = "/restride/machine.json";
  if (const char* named = ::secure_getenv("RESTRIDE_MACHINE")) return named;
  if (const std::string_view config = variable("XDG_CONFIG_HOME"); config.starts_with('/'))
    return std::string(config) + std::string(kBelow);
  if (const std::string_view home = variable("HOME"); home.starts_with('/'))
    return std::string(home) + "/.config" + std::string(kBelow);
  return {};
}

std::string machine_file_path() {
  std::string path = machine_file_home();
  return ::secure_getenv("RESTRIDE_MACHINE") != nullptr || ::access(path.c_str(), F_OK) == 0 ? path : "";
}

const Machines& machines() noexcept {
  static const Read read;
  static const Machines all{read.path, read.error, read.cpu,
                            read.file ? read.file->gpus() : std::span<const cuda::GpuNumbers>()};
  return all;
}

}  // namespace restride::api
