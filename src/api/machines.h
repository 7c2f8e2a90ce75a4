// Whose numbers the planners go by: those of the file that a user has made for this machine, else the nearest machine's
// that was measured.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json_value.h"
#include "src/cpu/machine.h"
#include "src/cuda/machine.h"

namespace restride::api {

/// {"restride_machine": 1, "cpu": {...}, "gpus": [{...}, ...]}: a CPU, GPUs, or both.
inline constexpr int kMachineFormat = 1;

/// What such a file says. Its names are views into its text, so it stays where it is.
class MachineFile {
 public:
  MachineFile() = default;
  /// Errors: ParseError.
  explicit MachineFile(std::string_view text);
  MachineFile(const MachineFile&) = delete;
  MachineFile& operator=(const MachineFile&) = delete;

  /// Null where the file has none.
  const cpu::CpuMachine* cpu() const noexcept { return has_cpu_ ? &cpu_ : nullptr; }
  std::span<const cuda::GpuNumbers> gpus() const noexcept { return gpus_; }

 private:
  base::JsonValue in_;
  bool has_cpu_ = false;
  cpu::CpuMachine cpu_;
  std::vector<cuda::GpuNumbers> gpus_;
};

/// The text of such a file; `cpu` may be null.
std::string machine_file_text(const cpu::CpuMachine* cpu, std::span<const cuda::GpuNumbers> gpus);

/// Where the file belongs: $RESTRIDE_MACHINE (empty: nowhere), else $XDG_CONFIG_HOME/restride/machine.json, else
/// ~/.config/restride/machine.json. Empty: nowhere.
std::string machine_file_home();
/// The same where there is a file, or one was asked for by name; else empty.
std::string machine_file_path();

/// The numbers of this process, read once, when they are first asked for. A file that cannot be used is left alone.
struct Machines {
  const std::string path;   ///< of the file; empty: there is none
  const std::string error;  ///< why it is not used; empty: it is
  const cpu::CpuMachine& cpu;
  const std::span<const cuda::GpuNumbers> gpus;
};
const Machines& machines() noexcept;

}  // namespace restride::api
