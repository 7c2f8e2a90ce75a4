// The subcommands of `restride`, one row each.
//
// To add one: write tools/NAME_command.cc with `void add_NAME_command(CLI::App& app)`, which adds the
// subcommand and sets its callback, and put a row into RESTRIDE_COMMANDS. A callback reports failure by
// throwing; main.cc prints the message and turns it into the exit code.
#pragma once

#include <stdexcept>
#include <string>

#include <restride/error.hpp>

// X(name): in the order in which --help lists them.
#define RESTRIDE_COMMANDS(X) \
  X(copy)                    \
  X(reshard)                 \
  X(explain)                 \
  X(bench)                   \
  X(lab)                     \
  X(tune)                    \
  X(info)                    \
  X(completion)

namespace CLI {
class App;  // CLI/CLI.hpp takes seconds to compile
}

namespace restride::tools {

#define RESTRIDE_X(name) void add_##name##_command(CLI::App& app);
RESTRIDE_COMMANDS(RESTRIDE_X)
#undef RESTRIDE_X

/// Exit codes of the command; a signal adds 128, as shells do.
enum ExitCode : int { kOk = 0, kFailure = 1, kUsage = 2 };

/// The command line alone is wrong, whatever the data: an option that cannot be read, a name that does not exist,
/// options that contradict each other. Exit code 2. What only the data show (an axis that an array lacks) is 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a command says where nothing stands in front of an arrow.
inline UsageError nothing_before_arrow(const std::string& command, const std::string& what) {
  return UsageError(command + " '" + what + "': a layout stands in front of '->', as in 'f32 (64,512) -> (1,0)'");
}

/// What `read` makes of the command line's text; its errors of these types are then the command line's.
template <class... Errors, class Read>
auto from_command_line(Read&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error& e) {
    if ((... || (dynamic_cast<const Errors*>(&e) != nullptr))) throw UsageError(e.what());
    throw;
  }
}

/// Ends the command with this code and no further message.
struct Exit {
  int code = kOk;
};

}  // namespace restride::tools
