#pragma once
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace longshore {

/// A part of a message: text, a character or a number.
class Part {
 public:
  explicit Part(std::string_view text) : kind_(Kind::text), text_(text) {}
  explicit Part(const std::string& text) : Part(std::string_view(text)) {}
  explicit Part(const char* text) : Part(std::string_view(text)) {}
  explicit Part(char c) : kind_(Kind::character), integer_(c) {}
  template <std::signed_integral T>
  explicit Part(T x) : kind_(Kind::integer), integer_(x) {}
  template <std::unsigned_integral T>
  explicit Part(T x) : kind_(Kind::natural), natural_(x) {}
  template <std::floating_point T>
  explicit Part(T x) : kind_(Kind::real), real_(x) {}

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

}  // namespace longshore
