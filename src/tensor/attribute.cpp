#include "tensor/attribute.hpp"

#include <algorithm>
#include <utility>

namespace longshore {
namespace {

template <class T>
const T* get(const Attribute* attribute) {
  return attribute ? std::get_if<T>(&attribute->value) : nullptr;
}
auto place(auto& items, std::string_view name) {
  return std::lower_bound(
      items.begin(), items.end(), name,
      [](const Attribute& a, std::string_view n) { return a.name.compare(n) < 0; });
}

}  // namespace

Attribute::Attribute(std::string n, Value v) noexcept : name(std::move(n)), value(std::move(v)) {}
Attribute::Attribute(const Attribute&) = default;
Attribute::Attribute(Attribute&&) noexcept = default;
Attribute& Attribute::operator=(const Attribute&) = default;
Attribute& Attribute::operator=(Attribute&&) noexcept = default;
Attribute::~Attribute() = default;
bool Attribute::operator==(const Attribute&) const = default;

const Attribute* Attributes::find(std::string_view name) const noexcept {
  const auto it = place(items_, name);
  return it != items_.end() && it->name == name ? &*it : nullptr;
}
void Attributes::set(std::string_view name, Attribute::Value value) {
  const auto it = place(items_, name);
  if (it != items_.end() && it->name == name)
    it->value = std::move(value);
  else
    items_.insert(it, Attribute{std::string(name), std::move(value)});
}
void Attributes::erase(std::string_view name) {
  std::erase_if(items_, [&](const Attribute& a) { return a.name == name; });
}
std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const noexcept {
  const auto* value = get<std::int64_t>(find(name));
  return value ? *value : otherwise;
}
float Attributes::real(std::string_view name, float otherwise) const noexcept {
  const auto* value = get<float>(find(name));
  return value ? *value : otherwise;
}
std::string_view Attributes::text(std::string_view name,
                                  std::string_view otherwise) const noexcept {
  const auto* value = get<std::string>(find(name));
  return value ? std::string_view(*value) : otherwise;
}
std::span<const std::int64_t> Attributes::integers(std::string_view name) const noexcept {
  const auto* value = get<Ints>(find(name));
  return value ? std::span<const std::int64_t>(*value) : std::span<const std::int64_t>();
}
std::span<const float> Attributes::reals(std::string_view name) const noexcept {
  const auto* value = get<Reals>(find(name));
  return value ? std::span<const float>(*value) : std::span<const float>();
}
std::span<const std::string> Attributes::texts(std::string_view name) const noexcept {
  const auto* value = get<Texts>(find(name));
  return value ? std::span<const std::string>(*value) : std::span<const std::string>();
}
const Tensor* Attributes::tensor(std::string_view name) const noexcept {
  return get<Tensor>(find(name));
}

}  // namespace longshore
