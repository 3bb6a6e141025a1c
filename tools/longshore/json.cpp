#include "json.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace longshore {
namespace {

using Array = std::vector<Json>;
using Object = std::map<std::string, Json, std::less<>>;

}  // namespace

struct Json::Value {
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> held;

  static nlohmann::json library(const Json& j) {
    if (!j.value_) return nullptr;
    return std::visit(
        [](const auto& x) -> nlohmann::json {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, Array>) {
            nlohmann::json::array_t out;
            for (const Json& item : x) out.push_back(library(item));
            return out;
          } else if constexpr (std::is_same_v<T, Object>) {
            nlohmann::json::object_t out;
            for (const auto& [name, item] : x) out.emplace(name, library(item));
            return out;
          } else {
            return x;
          }
        },
        j.value_->held);
  }
};

Json::Json() noexcept = default;
Json::Json(bool x) : value_(new Value{x}) {}
Json::Json(long x) : value_(new Value{std::int64_t(x)}) {}
Json::Json(unsigned long x) : value_(new Value{std::uint64_t(x)}) {}
Json::Json(double x) : value_(new Value{x}) {}
Json::Json(std::string_view text) : value_(new Value{std::string(text)}) {}

Json::Json(std::initializer_list<Field> fields) : value_(new Value{Object()}) {
  for (const Field& f : fields) (*this)[f.name] = f.value;
}

Json Json::array(std::initializer_list<Json> items) {
  Json out;
  out.value_.reset(new Value{Array(items)});
  return out;
}

Json::Json(const Json& other) : value_(other.value_ ? new Value(*other.value_) : nullptr) {}
Json::Json(Json&&) noexcept = default;
Json::~Json() = default;

Json& Json::operator=(Json other) noexcept {
  value_.swap(other.value_);
  return *this;
}

Json& Json::operator[](std::string_view name) {
  if (!value_) value_.reset(new Value{Object()});
  Object* fields = std::get_if<Object>(&value_->held);
  check(fields, "a field of JSON that is no object");
  return fields->try_emplace(std::string(name)).first->second;
}

void Json::push_back(Json item) {
  if (!value_) value_.reset(new Value{Array()});
  Array* items = std::get_if<Array>(&value_->held);
  check(items, "an item of JSON that is no array");
  items->push_back(std::move(item));
}

std::string Json::text() const {
  return Value::library(*this).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace longshore
