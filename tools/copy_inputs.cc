#include "tools/copy_inputs.h"

#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/io/save_array.h"
#include "tools/io/save_folder.h"
#include "tools/io/text.h"

namespace restride::tools {
namespace {

/// True when what is written there can hold arrays under the names that they have.
bool takes_names(const std::string& out) {
  if (out == "-") return false;
  if (io::names_folder(out)) return true;
  const io::PathAndMember where = io::split_spec(out);
  const auto format = io::format_named(where.path);
  return where.member.empty() && (format == io::FileFormat::kNpz || format == io::FileFormat::kSafetensors);
}

io::SetArray shared(io::OpenArray array) {
  return {std::make_shared<const io::InputFile>(std::move(array.file)), std::move(array.entry), std::move(array.shown)};
}

}  // namespace

CopyInputs::CopyInputs(const std::string& in, const std::string& out, const std::vector<std::string>& globs,
                       const io::OpenOptions& options)
    : reinterpret_(options.reinterpret) {
  const io::PathAndMember where = io::split_spec(in);
  if (!globs.empty() && (!where.member.empty() || options.raw_layout))
    throw UsageError(fmt::format("--array chooses arrays of a whole file, but {}; leave one of them out",
                                 where.member.empty() ? "--in-layout describes one" : "'" + in + "' names one"));
  if (where.member.empty() && !options.raw_layout) set_ = io::ArraySet::open(where.path);
  if (!set_) {
    if (!globs.empty()) throw ArgumentError(in + " is one array; leave out --array");
    one_ = shared(io::open_array(in, options));
    return;
  }
  choose(globs);
  if (takes_names(out)) return;
  if (chosen_.size() > 1) {
    std::vector<std::string> names;
    for (const std::size_t i : chosen_) names.push_back(set_->name(i));
    throw ArgumentError(fmt::format(
        "{} {} {} arrays; name one, as in '{}', or end OUT in .npz, .safetensors or '/' (a "
        "folder) to copy them all. It has {}",
        set_->path(), globs.empty() ? "holds" : "has", chosen_.size(), set_->shown(chosen_[0]), io::listed(names)));
  }
  one_ = set_->array(chosen_[0]);
  if (reinterpret_) io::reinterpret_entry(one_->entry, *reinterpret_);
  set_.reset();
}

void CopyInputs::choose(const std::vector<std::string>& globs) {
  std::vector<bool> used(globs.size());
  for (std::size_t i = 0; i < set_->size(); ++i) {
    bool wanted = globs.empty();
    for (std::size_t g = 0; g < globs.size(); ++g)
      if (::fnmatch(globs[g].c_str(), set_->name(i).c_str(), 0) == 0) wanted = used[g] = true;
    if (wanted) chosen_.push_back(i);
  }
  const auto idle = std::find(used.begin(), used.end(), false);
  if (idle == used.end()) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < set_->size(); ++i) names.push_back(set_->name(i));
  throw ArgumentError(fmt::format("--array '{}': {} holds none of such a name; it has {}",
                                  globs[static_cast<std::size_t>(idle - used.begin())], set_->path(),
                                  io::listed(names)));
}

io::ArrayEntry CopyInputs::entry(std::size_t i) const {
  if (!set_) return one_->entry;
  io::ArrayEntry out = set_->entry(chosen_[i]);
  if (reinterpret_) io::reinterpret_entry(out, *reinterpret_);
  return out;
}

io::SetArray CopyInputs::array(std::size_t i) const {
  if (!set_) return *one_;
  io::SetArray out = set_->array(chosen_[i]);
  if (reinterpret_) io::reinterpret_entry(out.entry, *reinterpret_);
  return out;
}

const io::SafetensorsMetadata& CopyInputs::metadata() const noexcept {
  static const io::SafetensorsMetadata kNone;
  return set_ ? set_->metadata() : kNone;
}

}  // namespace restride::tools
