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
    {"--crop", "--slice"},       {"--transpose", "--axes"}, {"--permute", "--axes"},    {"--perm", "--axes"},
    {"--cast", "--dtype"},       {"--type", "--dtype"},     {"--astype", "--dtype"},    {"--convert", "--dtype"},
    {"--rotate", "--rot90"},     {"--rot", "--rot90"},      {"--mirror", "--flip"},     {"--expand", "--broadcast"},
    {"--overwrite", "--force"},  {"--tensor", "--array"},   {"--key", "--array"},       {"--name", "--array"},
    {"--layout", "--in-layout"}, {"--view", "--reshape"},   {"--einops", "--rearrange"}};

/// The option that was meant; empty where none is near.
std::string nearest_option(const std::string& typed, const CLI::App& command) {
  for (const auto& [other, ours] : kOtherNames)
    if (base::lower(typed) == other && command.get_option_no_throw(std::string(ours)) != nullptr)
      return std::string(ours);
  base::Nearest nearest(typed);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) nearest.show("--" + name);
  return nearest.found();
}

std::string unexpected(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  const auto option = std::find_if(words.begin(), words.end(), [](const auto& word) { return word.starts_with('-'); });
  if (option == words.end()) return fmt::format("'{}' is one word too many", words.empty() ? "" : words.front());
  const std::string typed = option->substr(0, option->find('='));
  const std::string nearest = nearest_option(typed, command);
  return fmt::format("there is no option '{}'{}", typed,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

/// An option that has got more values than it takes, or none of those that it takes.
std::string mismatched(const CLI::ParseError& error, const CLI::App& command) {
  const std::string said = error.what();
  const std::string name = said.substr(0, said.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return said;
  if (option->count() > 1 && option->get_items_expected_max() == 1)
    return fmt::format("{} is given {} times; give it once", name, option->count());
  if (option->count() == 0)
    return fmt::format("{} stands behind {}", option->get_type_name() + " is missing: nothing", name);
  return said;
}

}  // namespace

std::string in_words(const CLI::ParseError& error, const CLI::App& command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatched(error, command);
  return error.what();
}

}  // namespace restride::tools
