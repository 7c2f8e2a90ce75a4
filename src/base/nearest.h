// Which of some names was meant by one that is none of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace restride::base {

/// Of ASCII letters only.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Letters to put in, leave out or change to make `b` of `a` (Levenshtein).
inline std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

/// The nearest of the names it is shown; a third of the typed letters may be wrong.
class Nearest {
 public:
  static constexpr std::size_t kLongest = 64;  ///< no name has more letters; longer words are near to none
  explicit Nearest(std::string_view typed) : typed_(lower(typed)), least_(1 + typed.size() / 3) {}
  void show(std::string_view name) {
    if (typed_.size() > kLongest) return;
    if (const std::size_t n = edits(typed_, name); n < least_) least_ = n, found_ = name;
  }
  const std::string& found() const noexcept { return found_; }  ///< empty where none is near

 private:
  std::string typed_, found_;
  std::size_t least_;
};

}  // namespace restride::base
