#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.hpp"

namespace longshore {

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<float>;
using Texts = std::vector<std::string>;

/// The kinds of attribute values, in the order of Attribute::Value. Subgraphs are kept apart.
enum class AttributeKind : std::uint8_t {
  integer,
  real,
  text,
  integers,
  reals,
  texts,
  tensor,
  graph
};

/// A named, typed constant of a node. What copies and ends the variant stands in one file: nearly
/// every file would have it compiled otherwise.
struct Attribute {
  using Value = std::variant<std::int64_t, float, std::string, Ints, Reals, Texts, Tensor>;
  std::string name;
  Value value;

  Attribute(std::string name, Value value) noexcept;
  Attribute(const Attribute&);
  Attribute(Attribute&&) noexcept;
  Attribute& operator=(const Attribute&);
  Attribute& operator=(Attribute&&) noexcept;
  ~Attribute();

  AttributeKind kind() const noexcept { return static_cast<AttributeKind>(value.index()); }
  bool operator==(const Attribute&) const;
};

/// Sorted by name: one form, so that two nodes can be compared.
class Attributes {
 public:
  const Attribute* find(std::string_view name) const noexcept;
  void set(std::string_view name, Attribute::Value value);
  void erase(std::string_view name);
  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }

  /// The value, or `otherwise` where it is absent or of another kind.
  std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const noexcept;
  float real(std::string_view name, float otherwise = 0) const noexcept;
  std::string_view text(std::string_view name, std::string_view otherwise = {}) const noexcept;
  std::span<const std::int64_t> integers(std::string_view name) const noexcept;
  std::span<const float> reals(std::string_view name) const noexcept;
  std::span<const std::string> texts(std::string_view name) const noexcept;
  const Tensor* tensor(std::string_view name) const noexcept;

  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }
  std::size_t size() const noexcept { return items_.size(); }
  bool operator==(const Attributes&) const = default;

 private:
  std::vector<Attribute> items_;
};

}  // namespace longshore
