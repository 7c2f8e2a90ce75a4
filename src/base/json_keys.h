// The keys of JSON objects that are being read: none may stand twice in one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <restride/error.hpp>

namespace restride::base {

/// The keys of the objects that are open, the innermost's last. They are sorted when their object closes: n log n steps
/// whatever the keys are, which a table of hashes does not promise, and 12 bytes a key beside its text.
class OpenKeys {
 public:
  void open() { objects_.push_back({keys_.size(), text_.size()}); }

  void add(std::string_view name) {
    keys_.push_back({static_cast<std::uint32_t>(std::hash<std::string_view>()(name)),
                     static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size())});
    text_.append(name);
  }

  /// Errors: ParseError when a key stands twice in the object.
  void close() {
    const Object object = objects_.back();
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(object.first_key);
    std::sort(first, keys_.end(),
              [this](Key a, Key b) { return a.hash != b.hash ? a.hash < b.hash : text(a) < text(b); });
    const auto twice =
        std::adjacent_find(first, keys_.end(), [this](Key a, Key b) { return a.hash == b.hash && text(a) == text(b); });
    if (twice != keys_.end()) throw ParseError(fmt::format("'{}' appears twice in one object", shown(text(*twice))));
    keys_.erase(first, keys_.end());
    text_.resize(object.first_byte);
    objects_.pop_back();
  }

 private:
  struct Object {
    std::size_t first_key, first_byte;
  };
  struct Key {
    std::uint32_t hash, at, bytes;
  };
  std::string_view text(Key k) const { return std::string_view(text_).substr(k.at, k.bytes); }

  /// A key in a message: not all of a long one.
  static std::string shown(std::string_view name) {
    constexpr std::size_t kMost = 60;
    if (name.size() <= kMost) return std::string(name);
    std::size_t cut = kMost;
    while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0) == 0x80) --cut;  // between characters
    return std::string(name.substr(0, cut)) + "...";
  }

  std::vector<Object> objects_;
  std::vector<Key> keys_;
  std::string text_;
};

}  // namespace restride::base
