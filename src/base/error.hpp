#pragma once
#include <concepts>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace longshore {

/// The one exception type of the compiler side.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& what) : std::runtime_error(what), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

/// A part of a message: text, a character or a number.
class Part {
 public:
  Part(std::string_view text) : kind_(Kind::text), text_(text) {}
  Part(const std::string& text) : Part(std::string_view(text)) {}
  Part(const char* text) : Part(std::string_view(text)) {}
  Part(char c) : kind_(Kind::character), integer_(c) {}
  template <std::signed_integral T>
  Part(T x) : kind_(Kind::integer), integer_(x) {}
  template <std::unsigned_integral T>
  Part(T x) : kind_(Kind::natural), natural_(x) {}
  template <std::floating_point T>
  Part(T x) : kind_(Kind::real), real_(x) {}

  void append_to(std::string&) const;

 private:
  enum class Kind : unsigned char { text, character, integer, natural, real } kind_;
  union {
    std::string_view text_;
    long long integer_;
    unsigned long long natural_;
    double real_;
  };
};

/// One text of all. Compiled once, unlike what takes the parts in their own types.
std::string joined(std::initializer_list<Part>);

/// str("conv ", 3) == "conv 3"; real numbers in six digits. GCC 12 has no std::format.
template <class... Ts>
std::string str(const Ts&... parts) {
  return joined({Part(parts)...});
}

/// The input is at fault: say what was expected, what was found, and where.
template <class... Ts>
[[noreturn]] void fail(Code code, const Ts&... parts) {
  throw Error(code, joined({Part(parts)...}));
}

/// This program is at fault.
inline void check(bool ok, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!ok) [[unlikely]]
    fail(Code::internal, file, ":", line, ": this is a bug: ", what);
}

/// Turns a runtime-side failure into the exception; `where` names file or node.
inline void require(const Status& status, std::string_view where = {}) {
  if (!status.ok()) [[unlikely]]
    fail(status.code(), where, where.empty() ? "" : ": ", status.text());
}

}  // namespace longshore
