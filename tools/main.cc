// The command `restride`: parses the line, runs one subcommand, turns errors into messages and exit codes.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <restride/restride.hpp>

#include "src/api/machines.h"
#include "src/cpu/team/run_on_stack.h"
#include "src/cpu/team/stack.h"
#include "tools/commands.h"
#include "tools/io/text.h"
#include "tools/parse_errors.h"

namespace {

constexpr const char* kDescription =
    "Copies strided N-d tensors into any other layout at the speed of a plain copy,\n"
    "and shows why it is that fast.";

constexpr const char* kExamples = R"(
Examples:
  restride copy images.npy chw.npy --axes 0,3,1,2
  restride copy images.npy chw.npy --rearrange 'b h w c -> b c h w' --dtype f16
  restride copy model.safetensors:lm_head head.npy --axes 1,0
  restride explain 'f32 (64,512,512,3) -> (0,3,1,2)'

Exit codes: 0 done; 1 the data or the machine said no; 2 the command line was wrong, whatever the
data; 128 + N when signal N ended it. `man restride` tells more.)";

// A message quotes what files and the command line hold, so nothing of it may reach the terminal as a command.
int fail(const char* message, int code) {
  std::fprintf(stderr, "restride: error: %s\n", restride::io::escaped(message).c_str());
  return code;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// CLI11 would only say that a subcommand is missing.
int list_commands(const CLI::App& app) {
  std::fprintf(stderr, "restride: error: name a command:\n");
  for (const CLI::App* sub : commands_of(app))
    std::fprintf(stderr, "  %-12s%s\n", sub->get_name().c_str(), sub->get_description().c_str());
  std::fprintf(stderr, "Try 'restride --help', or --help behind a command.\n");
  return restride::tools::kUsage;
}

void require_known_command(const CLI::App& app, const std::string& word) {
  if (word.starts_with('-')) {  // CLI11 would only say that a subcommand is missing
    if (app.get_option_no_throw(word) != nullptr) return;
    throw restride::tools::UsageError("there is no option '" + word +
                                      "' in front of a command; a command's options stand behind it");
  }
  const std::vector<const CLI::App*> commands = commands_of(app);
  for (const CLI::App* sub : commands)
    if (sub->get_name() == word) return;
  throw restride::tools::UsageError(restride::tools::unknown_command(word, commands));
}

// An unset variable of the shell leaves an empty word, or `--slice=`. Read as "not given" it would make a wrong file
// and say nothing; CLI11 takes the next word for the value of `--slice=`.
void refuse_empty_words(int argc, char** argv) {
  constexpr const char* kRemedy = "; leave it out, or is a variable of the shell unset?";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.empty())
      throw restride::tools::UsageError(std::string("the word behind ") + argv[i - 1] + " is empty" + kRemedy);
    if (word.starts_with("--") && word.ends_with('='))
      throw restride::tools::UsageError("there is nothing behind " + std::string(word) + kRemedy);
  }
}

// CLI11 takes it for an option and would only say that WHAT is missing.
void refuse_arrow_alone(int argc, char** argv) {
  const std::string_view command = argc > 2 ? argv[1] : "";
  if ((command == "explain" || command == "bench") && std::string_view(argv[2]).starts_with("->"))
    throw restride::tools::nothing_before_arrow(std::string(command), argv[2]);
}

// The library leaves such a file alone; who calls the command is there to mend it.
void require_usable_machine_file(std::string_view command) {
  if (command.starts_with('-') || command == "completion") return;
  const restride::api::Machines& machines = restride::api::machines();
  if (command == "tune" && ::access(machines.path.c_str(), F_OK) != 0) return;  // it is about to be made
  if (!machines.error.empty())
    throw restride::ParseError("the machine's numbers in " + machines.path + " cannot be used: " + machines.error +
                               "; mend the file, or set RESTRIDE_MACHINE= to do without");
}

// Without this a file that is opened could become standard output, and the report would be written into it.
void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run(int argc, char** argv) {
  CLI::App app{kDescription, "restride"};
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("restride ") + std::string(restride::version()), "Print the version");
#define RESTRIDE_X(name) restride::tools::add_##name##_command(app);
  RESTRIDE_COMMANDS(RESTRIDE_X)
#undef RESTRIDE_X

  if (argc < 2) return list_commands(app);
  refuse_empty_words(argc, argv);
  require_known_command(app, argv[1]);
  refuse_arrow_alone(argc, argv);
  require_usable_machine_file(argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const CLI::App& sub = chosen.empty() ? app : *chosen.front();
    fail(restride::tools::in_words(e, sub).c_str(), restride::tools::kUsage);
    std::fprintf(stderr, "Try '%s --help'.\n", (chosen.empty() ? "restride" : "restride " + sub.get_name()).c_str());
    return restride::tools::kUsage;
  }
  return restride::tools::kOk;
}

// An error as a message and its code.
int run_or_explain(int argc, char** argv) {
  using namespace restride::tools;
  try {
    return run(argc, argv);
  } catch (const Exit& e) {
    return e.code;
  } catch (const UsageError& e) {
    return fail(e.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory; raise the memory limit", kFailure);
  } catch (const std::exception& e) {
    return fail(e.what(), kFailure);
  }
}

// The thread that calls the library takes part in the copy, and `ulimit -s` may leave this one too little stack for it.
int run_with_enough_stack(int argc, char** argv) {
  constexpr std::size_t kMainStackBytes = 8 << 20;  // what Linux gives a main thread by default
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= restride::cpu::kStackBytes)
    return run_or_explain(argc, argv);
  int code = restride::tools::kFailure;
  const auto work = [&] { code = run_or_explain(argc, argv); };
  if (restride::cpu::run_on_stack(kMainStackBytes, work)) return code;
  return fail("the stack is too small for a copy, and no thread with a larger one can be had; raise `ulimit -s`", code);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace restride::tools;
  hold_standard_streams();
  const int code = run_with_enough_stack(argc, argv);
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (code != kOk || printed) return code;
  return fail("cannot write the report to standard output; is the disk full?", kFailure);
}
