#pragma once
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include <unistd.h>

namespace longshore {

/// "what: 340 of 1000, 12 s left" on stderr while long work runs: in place on a terminal, else a
/// line every ten seconds. Silent for work that takes less than a second. What is printed
/// elsewhere meanwhile calls clear() first; the end of the work clears it by itself.
class Progress {
 public:
  explicit Progress(std::string what)
      : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { erase(); }

  /// Takes the line that stands there, if any, off the terminal.
  static void clear() {
    if (shown_) shown_->erase();
  }

  void update(std::size_t done, std::size_t all) {
    if (done >= all) return erase();
    const auto now = Clock::now();
    const auto wait = !terminal_ ? std::chrono::milliseconds(10000)
                      : began_   ? std::chrono::milliseconds(200)
                                 : std::chrono::milliseconds(1000);
    if (now - last_ < wait || done == 0) return;
    last_ = now;
    began_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double left = seconds * static_cast<double>(all - done) / static_cast<double>(done);
    std::fprintf(stderr, "%s%s: %zu of %zu, %.0f s left%s",
                 terminal_ ? "\r\033[K" : "longshore: ", what_.c_str(), done, all, left,
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
    if (terminal_) shown_ = this;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void erase() {
    if (shown_ != this) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_ = nullptr;
  }

  inline static Progress* shown_ = nullptr;  // whose line stands on the terminal
  std::string what_;
  bool terminal_, began_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace longshore
