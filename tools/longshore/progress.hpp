#pragma once
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include <unistd.h>

namespace longshore {

/// "what: 340 of 1000, 12 s left" on stderr while long work runs: in place on a terminal, else a
/// line every ten seconds. Silent for work that takes less than a second.
class Progress {
 public:
  explicit Progress(std::string what)
      : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
  }

  void update(std::size_t done, std::size_t all) {
    const auto now = Clock::now();
    const auto wait = !terminal_ ? std::chrono::milliseconds(10000)
                      : shown_   ? std::chrono::milliseconds(200)
                                 : std::chrono::milliseconds(1000);
    if (now - last_ < wait || done == 0) return;
    last_ = now;
    shown_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double left = seconds * static_cast<double>(all - done) / static_cast<double>(done);
    std::fprintf(stderr, "%s%s: %zu of %zu, %.0f s left%s",
                 terminal_ ? "\r\033[K" : "longshore: ", what_.c_str(), done, all, left,
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool terminal_, shown_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace longshore
