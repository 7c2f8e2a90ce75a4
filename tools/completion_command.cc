// `restride completion SHELL`: a completion script made from the very options that the parser knows.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <restride/dtype.hpp>

#include "tools/bench/shipped.h"
#include "tools/commands.h"
#include "tools/run_options.h"

namespace restride::tools {
namespace {

struct Flag {
  std::vector<std::string> names;  // with their dashes
  std::string help;                // first sentence, as written: each shell quotes it its own way
  bool takes_value = false;
  std::vector<std::string> values;  // what it accepts, where that is a set of names; files may be among them, too
};

struct Subcommand {
  std::string name;
  std::string help;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // what its positional accepts, when that is a fixed set
};

std::string first_line(const std::string& text) { return text.substr(0, text.find_first_of("\n;")); }

std::string with_backslashes(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Inside the single quotes of bash and zsh nothing is special, so a quote has to be written outside of them.
std::string in_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return fmt::format("'{}'", out);
}

std::vector<std::string> values_of(const std::string& command, const std::string& option) {
  if (option == "family") return family_names();
  if (option == "device")
    return command == "bench" || command == "tune" ? std::vector<std::string>{"cpu", "cuda"}
                                                   : std::vector<std::string>{"cpu", "cuda", "auto"};
  if (option == "order") return {"C", "F"};
  std::vector<std::string> out;
  if (option == "cases") out.assign(std::begin(bench::kShippedNames), std::end(bench::kShippedNames));
  if (option == "dtype" || option == "in-dtype")
    for (int i = 0; i < kDTypeCount; ++i) out.emplace_back(name(static_cast<DType>(i)));
  return out;
}

std::vector<Subcommand> describe(const CLI::App& app) {
  std::vector<Subcommand> all;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    Subcommand s{sub->get_name(), first_line(sub->get_description()), {}, {}};
    for (const CLI::Option* option : sub->get_options()) {
      Flag flag;
      for (const std::string& n : option->get_lnames()) flag.names.push_back("--" + n);
      for (const std::string& n : option->get_snames()) flag.names.push_back("-" + n);
      flag.help = first_line(option->get_description());
      flag.takes_value = option->get_items_expected_max() > 0;
      if (flag.takes_value && !option->get_lnames().empty()) flag.values = values_of(s.name, option->get_lnames()[0]);
      if (!flag.names.empty()) s.flags.push_back(flag);
    }
    if (s.name == "completion") s.words = {"bash", "zsh", "fish"};
    all.push_back(s);
  }
  return all;
}

std::string bash(const std::vector<Subcommand>& all) {
  std::string names, cases;
  for (const Subcommand& s : all) {
    names += " " + s.name;
    std::string options, values, unnamed;
    for (const Flag& f : s.flags) {
      for (const std::string& n : f.names) options += " " + n;
      const std::string names_of_flag = fmt::format("{}", fmt::join(f.names, "|"));
      if (!f.values.empty())
        values += fmt::format("        {}) options='' words='{}' ;;\n", names_of_flag, fmt::join(f.values, " "));
      else if (f.takes_value)
        unnamed += (unnamed.empty() ? "" : "|") + names_of_flag;
    }
    if (!unnamed.empty()) values += fmt::format("        {}) options='' words='' ;;\n", unnamed);
    cases += fmt::format("    {}) options='{}' words='{}'\n", s.name, options, fmt::join(s.words, " "));
    if (!values.empty()) cases += fmt::format("      case $before in\n{}      esac\n", values);
    cases += "      ;;\n";
  }
  // `=` is a word of its own to bash. Where no word fits, `-o default` offers files.
  return fmt::format(R"(# bash completion of restride: source <(restride completion bash)
_restride() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options='' words=''
  if [ "$cur" = = ]; then cur=''; elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  [ "$COMP_CWORD" -eq 1 ] && options='--help --version' words='{}'
  case $cur in -*) words=$options ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -o bashdefault -F _restride restride
)",
                     cases, names);
}

std::string zsh(const std::vector<Subcommand>& all) {
  std::string names, cases;
  for (const Subcommand& s : all) {
    names += fmt::format(" {}", in_quotes(fmt::format("{}:{}", s.name, with_backslashes(s.help, "\\:"))));
    cases += fmt::format("    {}) _arguments", s.name);
    for (const Flag& f : s.flags) {
      const std::string action = f.values.empty()          ? "_files"
                                 : f.names[0] == "--cases" ? "_restride_cases"
                                                           : fmt::format("({})", fmt::join(f.values, " "));
      const std::string value = f.takes_value ? fmt::format(":value:{}", action) : "";
      for (const std::string& n : f.names)
        cases += fmt::format(" {}", in_quotes(fmt::format("{}[{}]{}", n, with_backslashes(f.help, "\\[]:"), value)));
    }
    if (!s.words.empty()) cases += fmt::format(" '1:shell:({})'", fmt::join(s.words, " "));
    cases += " '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef restride
# zsh completion of restride: restride completion zsh > "${{fpath[1]}}/_restride"
_restride_cases() {{ _alternative 'names:shipped file:({})' 'files:file:_files' }}
_restride() {{
  local -a commands=({})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = _restride ]; then _restride "$@"; else compdef _restride restride; fi
)",
                     fmt::join(bench::kShippedNames, " "), names, cases);
}

std::string in_fish_quotes(std::string_view text) { return fmt::format("'{}'", with_backslashes(text, "\\'")); }

std::string fish(const std::vector<Subcommand>& all) {
  std::string out = "# fish completion of restride: restride completion fish | source\n";
  for (const Subcommand& s : all) {
    out += fmt::format("complete -c restride -n __fish_use_subcommand -a {} -d {}\n", s.name, in_fish_quotes(s.help));
    const std::string seen = fmt::format("-n '__fish_seen_subcommand_from {}'", s.name);
    for (const Flag& f : s.flags) {
      out += "complete -c restride " + seen;
      for (const std::string& n : f.names) out += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      if (!f.values.empty()) out += fmt::format(" -a '{}'", fmt::join(f.values, " "));
      out += fmt::format("{} -d {}\n", f.takes_value ? " -r" : "", in_fish_quotes(f.help));
    }
    for (const std::string& w : s.words) out += fmt::format("complete -c restride {} -f -a {}\n", seen, w);
  }
  return out;
}

}  // namespace

void add_completion_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  sub->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("");
  sub->footer("\nExample:\n  source <(restride completion bash)");
  sub->callback([&app, shell] {
    const std::vector<Subcommand> all = describe(app);
    const std::string script = *shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all);
    std::fputs(script.c_str(), stdout);
  });
}

}  // namespace restride::tools
