#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/text.hpp"

namespace longshore {

/// The one exception type of the compiler side.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& what) : std::runtime_error(what), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

/// The input is at fault: say what was expected, what was found, and where.
template <class... Ts>
[[noreturn]] void fail(Code code, const Ts&... parts) {
  throw Error(code, str(parts...));
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
