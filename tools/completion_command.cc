// `restride completion SHELL`: a completion script made from the very options that the parser knows.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/commands.h"

namespace restride::tools {
namespace {

struct Flag {
  std::vector<std::string> names;  // with their dashes
  std::string help;                // first sentence, safe inside single quotes
  bool takes_value = false;
};

struct Subcommand {
  std::string name;
  std::string help;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // what its positional accepts, when that is a fixed set
};

std::string first_line(std::string text) {
  text = text.substr(0, text.find_first_of("\n;"));
  std::erase_if(text, [](char c) { return c == '\'' || c == '[' || c == ']' || c == ':' || c == '\\'; });
  return text;
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
    std::string words;
    for (const Flag& f : s.flags)
      for (const std::string& n : f.names) words += " " + n;
    for (const std::string& w : s.words) words += " " + w;
    cases += fmt::format("    {}) words='{}' ;;\n", s.name, words);
  }
  return fmt::format(R"(# bash completion of restride: source <(restride completion bash)
_restride() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} words='{} --help --version'
  case ${{COMP_WORDS[1]}} in
{}  esac
  [ "$COMP_CWORD" -eq 1 ] && words='{} --help --version'
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -o bashdefault -F _restride restride
)",
                     names, cases, names);
}

std::string zsh(const std::vector<Subcommand>& all) {
  std::string names, cases;
  for (const Subcommand& s : all) {
    names += fmt::format(" '{}:{}'", s.name, s.help);
    cases += fmt::format("    {}) _arguments", s.name);
    for (const Flag& f : s.flags)
      for (const std::string& n : f.names)
        cases += fmt::format(" '{}[{}]{}'", n, f.help, f.takes_value ? ":value:_files" : "");
    if (!s.words.empty()) cases += fmt::format(" '1:shell:({})'", fmt::join(s.words, " "));
    cases += " '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef restride
# zsh completion of restride: restride completion zsh > "${{fpath[1]}}/_restride"
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
                     names, cases);
}

std::string fish(const std::vector<Subcommand>& all) {
  std::string out = "# fish completion of restride: restride completion fish | source\n";
  for (const Subcommand& s : all) {
    out += fmt::format("complete -c restride -n __fish_use_subcommand -a {} -d '{}'\n", s.name, s.help);
    const std::string seen = fmt::format("-n '__fish_seen_subcommand_from {}'", s.name);
    for (const Flag& f : s.flags) {
      out += "complete -c restride " + seen;
      for (const std::string& n : f.names) out += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      out += fmt::format("{} -d '{}'\n", f.takes_value ? " -r" : "", f.help);
    }
    for (const std::string& w : s.words) out += fmt::format("complete -c restride {} -f -a {}\n", seen, w);
  }
  return out;
}

}  // namespace

void add_completion_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  sub->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->footer("\nExample:\n  source <(restride completion bash)");
  sub->callback([&app, shell] {
    const std::vector<Subcommand> all = describe(app);
    const std::string script = *shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all);
    std::fputs(script.c_str(), stdout);
  });
}

}  // namespace restride::tools
