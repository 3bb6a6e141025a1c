#include "base/status.hpp"

#include <cstdarg>
#include <cstdio>

namespace longshore {

Status Status::error(Code code, const char* format, ...) noexcept {
  Status status;
  status.code_ = code;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(status.text_, sizeof status.text_, format, arguments);
  va_end(arguments);
  return status;
}

}  // namespace longshore
