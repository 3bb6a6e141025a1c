#pragma once
#include <optional>
#include <utility>

namespace longshore {

/// What kind of trouble: decides the exit code of the command line (docs/errors.md).
enum class Code : unsigned char {
  ok,
  bad_model,     // a model, bundle or target file breaks its format's rules
  bad_argument,  // an input, option or call does not fit the model
  unsupported,   // well formed, but Longshore has no way to do it
  arithmetic,    // an integer division by zero or the like, at run time
  exhausted,     // a memory, size or count limit is reached
  io,            // a file cannot be read or written
  internal,      // this program is at fault
};

/// Success, or a code and one sentence. Holds its text itself: no allocation, no exception.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// printf-style; the text is cut at the capacity.
  [[gnu::format(printf, 2, 3)]] static Status error(Code, const char* format, ...) noexcept;

  bool ok() const noexcept { return code_ == Code::ok; }
  Code code() const noexcept { return code_; }
  const char* text() const noexcept { return text_; }

 private:
  Code code_ = Code::ok;
  char text_[255] = {};
};

/// A value or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(const Status& status) : status_(status) {}  // NOLINT(google-explicit-constructor)
  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace longshore

/// Hands a failure to the caller.
#define LONGSHORE_TRY(expression)                                                  \
  do {                                                                             \
    if (::longshore::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)
