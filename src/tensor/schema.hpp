#pragma once
#include <cstdint>
#include <string_view>

#include "base/list.hpp"
#include "tensor/attribute.hpp"
#include "tensor/dtype.hpp"

namespace longshore {

enum class Presence : std::uint8_t { required, optional, variadic };

/// An input or output of an operator. Values whose `variable` is equal have the same dtype.
struct Parameter {
  std::string_view name;
  Types types = type_set::any;
  std::string_view variable = {};
  Presence presence = Presence::required;
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind = AttributeKind::integer;
  bool required = false;
};

struct Schema {
  List<Parameter, 16> inputs, outputs;
  List<AttributeSpec, 16> attributes;
};

}  // namespace longshore
