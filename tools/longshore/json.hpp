// What commands print for scripts to read.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

namespace longshore {

/// A JSON value: null, a boolean, number, string, array or object. nlohmann::json writes it, in
/// json.cpp alone: its templates cost each file that names it seconds.
class Json {
 public:
  struct Field;

  Json() noexcept;  // null
  Json(bool);
  Json(int x) : Json(static_cast<long>(x)) {}
  Json(long);
  Json(unsigned x) : Json(static_cast<unsigned long>(x)) {}
  Json(unsigned long);
  Json(double);  // one that is not finite is written as null
  Json(std::string_view);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  /// {{"name", value}, ...}: an object.
  Json(std::initializer_list<Field>);
  /// Null for none.
  template <class T>
  Json(const std::optional<T>& x) : Json(x ? Json(*x) : Json()) {}
  /// A map becomes an object, another container an array.
  template <std::ranges::input_range Range>
  requires(!std::convertible_to<Range, std::string_view>) Json(const Range& items) : Json() {
    if constexpr (requires { typename Range::mapped_type; }) {
      *this = Json(std::initializer_list<Field>{});
      for (const auto& [name, x] : items) (*this)[name] = Json(x);
    } else {
      *this = array();
      for (const auto& x : items) push_back(Json(x));
    }
  }
  static Json array(std::initializer_list<Json> = {});

  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(Json) noexcept;
  ~Json();

  /// The object's field of that name, made where there is none; null becomes an object.
  Json& operator[](std::string_view name);
  /// To an array; null becomes one.
  void push_back(Json);
  /// On one line, fields in the order of their names. Bytes that are no UTF-8 are replaced.
  std::string text() const;

 private:
  struct Value;
  std::unique_ptr<Value> value_;  // none: null
};

struct Json::Field {
  std::string_view name;
  Json value;
};

}  // namespace longshore
