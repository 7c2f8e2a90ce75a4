#include "tools/progress.h"

#include <unistd.h>

#include <string>

#include <fmt/format.h>

namespace restride::tools {

std::string progress_line(double part, double moved_bytes, double seconds) {
  constexpr int kWidth = 30;
  const auto full = static_cast<std::size_t>(part * kWidth);
  return fmt::format("[{}{}] {:3.0f} %  {:.2f} GB/s  {:.0f} s left", std::string(full, '#'),
                     std::string(kWidth - full, '.'), 100 * part, part * moved_bytes / seconds / 1e9,
                     part > 0 ? seconds * (1 - part) / part : 0.0);
}

Progress::Progress(bool wanted, std::int64_t moved_bytes)
    : wanted_(wanted && ::isatty(STDERR_FILENO) == 1), moved_bytes_(static_cast<double>(moved_bytes)) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::show(const std::string& line) {
  shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

void Progress::update(double done) {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  if (!wanted_ || now - start_ < 1s || now - last_ < 100ms || moved_bytes_ <= 0) return;
  last_ = now;
  show(progress_line(done / moved_bytes_, moved_bytes_, std::chrono::duration<double>(now - start_).count()));
}

void Progress::finishing(bool sync) {
  if (wanted_ && sync) show("waiting until the device has the data (--no-sync does not wait)");
}

}  // namespace restride::tools
