// Listening to the log of slow paths.
#pragma once

#include <string>
#include <vector>

#include <restride/log.hpp>

namespace restride::test {

/// Takes the log for as long as it lives.
class LogLines {
 public:
  LogLines() {
    set_log([](void* self, const char* line) { static_cast<LogLines*>(self)->lines_.emplace_back(line); }, this);
  }
  ~LogLines() { set_log(nullptr); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  std::string text() const {
    std::string out;
    for (const std::string& line : lines_) out += line + "\n";
    return out;
  }
  const std::vector<std::string>& lines() const { return lines_; }
  std::size_t count() const { return lines_.size(); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace restride::test
