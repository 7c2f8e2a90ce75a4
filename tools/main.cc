// The command `restride`: parses the line, runs one subcommand, turns errors into messages and exit codes.
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <restride/restride.hpp>

#include "tools/commands.h"
#include "tools/machine.h"

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

Exit codes: 0 done; 1 the data or the machine said no; 2 the command line was wrong;
128 + N when signal N ended it. `man restride` tells more.)";

int fail(const char* message, int code) {
  std::fprintf(stderr, "restride: error: %s\n", message);
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
  if (word.starts_with('-')) return;
  std::string known;
  for (const CLI::App* sub : commands_of(app)) {
    if (sub->get_name() == word) return;
    known += (known.empty() ? "" : ", ") + sub->get_name();
  }
  throw restride::tools::UsageError("there is no command '" + word + "'; there are " + known);
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
  require_known_command(app, argv[1]);
  restride::tools::threads_from_environment();  // refuses what the library would ignore
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "restride: error: %s\nTry 'restride%s --help'.\n", e.what(),
                 app.get_subcommands().empty() ? "" : (" " + app.get_subcommands().front()->get_name()).c_str());
    return restride::tools::kUsage;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail("cannot write the report to standard output; is the disk full?", restride::tools::kFailure);
  return restride::tools::kOk;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace restride::tools;
  try {
    return run(argc, argv);
  } catch (const Exit& e) {
    return e.code;
  } catch (const UsageError& e) {
    return fail(e.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory; give a smaller --buffer-mib or raise the memory limit", kFailure);
  } catch (const std::exception& e) {
    return fail(e.what(), kFailure);
  }
}
