#include "tools/parse_errors.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/nearest.h"

namespace restride::tools {
namespace {

/// What other programs call an option, and what it is called here.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"--crop", "--slice"},       {"--transpose", "--axes"}, {"--permute", "--axes"},     {"--perm", "--axes"},
    {"--cast", "--dtype"},       {"--type", "--dtype"},     {"--astype", "--dtype"},     {"--convert", "--dtype"},
    {"--rotate", "--rot90"},     {"--rot", "--rot90"},      {"--mirror", "--flip"},      {"--expand", "--broadcast"},
    {"--overwrite", "--force"},  {"--tensor", "--array"},   {"--key", "--array"},        {"--name", "--array"},
    {"--layout", "--in-layout"}, {"--view", "--reshape"},   {"--einops", "--rearrange"}, {"--to", "--dtype"}};

/// The same for commands. What is an option's other name is none of these.
constexpr std::pair<std::string_view, std::string_view> kOtherCommands[] = {
    {"cp", "copy"},    {"convert", "copy"},   {"plan", "explain"},        {"draw", "explain"}, {"why", "explain"},
    {"ls", "info"},    {"list", "info"},      {"show", "info"},           {"inspect", "info"}, {"benchmark", "bench"},
    {"time", "bench"}, {"calibrate", "tune"}, {"redistribute", "reshard"}};

/// The option of this name, or of this name elsewhere; empty where there is none.
std::string option_named(const std::string& typed, const CLI::App& command) {
  std::string word = base::lower(typed);
  if (command.get_option_no_throw(word) != nullptr) return word;
  for (const auto& [other, ours] : kOtherNames)
    if (word == other && command.get_option_no_throw(std::string(ours)) != nullptr) return std::string(ours);
  return "";
}

/// The option that was meant; empty where none is near.
std::string nearest_option(const std::string& typed, const CLI::App& command) {
  if (std::string named = option_named(typed, command); !named.empty()) return named;
  base::Nearest nearest(typed);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) nearest.show("--" + name);
  return nearest.found();
}

std::string unexpected(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  const auto option = std::find_if(words.begin(), words.end(), [](const auto& word) { return word.starts_with('-'); });
  if (option == words.end()) return fmt::format("'{}' is one word too many", words.empty() ? "" : words.front());
  if (option->starts_with("->")) return "'->' stands alone; put quotes around all of it, as in 'f32 (64,512) -> (1,0)'";
  const std::string typed = option->substr(0, option->find('='));
  const std::string nearest = nearest_option(typed, command);
  return fmt::format("there is no option '{}'{}", typed,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

/// An option that has got more values than it takes, or none of those that it takes.
std::string mismatched(const CLI::ParseError& error, const CLI::App& command) {
  std::string said = error.what();
  const std::string name = said.substr(0, said.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return said;
  if (option->count() > 1 && option->get_items_expected_max() == 1)
    return fmt::format("{} is given {} times; give it once", name, option->count());
  if (option->count() == 0)
    return fmt::format("{} stands behind {}", option->get_type_name() + " is missing: nothing", name);
  return said;
}

/// A word that is an option here, or an option's name elsewhere, in the place of a command: how to give it. Else empty.
std::string meant_as_option(const std::string& word, const std::vector<const CLI::App*>& commands) {
  std::string option, owners, how;
  for (const CLI::App* sub : commands) {
    const std::string named = option_named("--" + word, *sub);
    if (named.empty() || named == "--help") continue;
    owners += (owners.empty() ? "" : ", ") + sub->get_name();
    if (!option.empty()) continue;
    option = named;
    const std::string value = sub->get_option(named)->get_type_name();
    how = fmt::format("restride {} {} {}{}{}", sub->get_name(), sub->get_name() == "copy" ? "IN OUT" : "...", named,
                      value.empty() ? "" : " ", value);
  }
  return option.empty() ? "" : fmt::format("{} is an option (of {}): {}", option, owners, how);
}

/// What a word that is no command seems to be; empty where nothing does.
std::string meant_by(const std::string& word, const std::vector<const CLI::App*>& commands) {
  if (word == "help") return "restride --help lists them, and --help behind one its options";
  if (word.find("->") != std::string::npos)
    return fmt::format("a layout stands behind explain or bench: restride explain '{}'", word);
  for (const std::string_view ending : {".npy", ".npz", ".safetensors", ".raw"})
    if (word.ends_with(ending))
      return fmt::format("a file stands behind copy, explain or info: restride copy {} OUT", word);
  for (const auto& [other, ours] : kOtherCommands)
    if (base::lower(word) == other) return fmt::format("did you mean {}?", ours);
  if (std::string option = meant_as_option(word, commands); !option.empty()) return option;
  base::Nearest nearest(word);
  for (const CLI::App* sub : commands) nearest.show(sub->get_name());
  return nearest.found().empty() ? "" : fmt::format("did you mean {}?", nearest.found());
}

}  // namespace

std::string unknown_command(const std::string& word, const std::vector<const CLI::App*>& commands) {
  std::string known;
  for (const CLI::App* sub : commands) known += (known.empty() ? "" : ", ") + sub->get_name();
  const std::string meant = meant_by(word, commands);
  return fmt::format("there is no command '{}'; {}{}there are {}", word, meant, meant.empty() ? "" : "; ", known);
}

std::string in_words(const CLI::ParseError& error, const CLI::App& command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatched(error, command);
  return error.what();
}

}  // namespace restride::tools
