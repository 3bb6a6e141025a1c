#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/list.hpp"
#include "tensor/attribute.hpp"
#include "tensor/dtype.hpp"

namespace longshore {

enum class Presence : std::uint8_t { required, optional, variadic };

/// What an input is for. quantize, placement and forms ask for roles, never for positions.
enum class InputRole : std::uint8_t {
  data,             // what the operator computes on
  weights,          // constants that multiply; computed ones keep the node in float
  weights_or_data,  // weights where it is a constant, data where it is computed
  bias,             // what is added to sums of products
  residual,         // a tensor that a fused operator adds to its result
  bound,            // a number that limits the result
  parameter,     // what has no codes: dims, axes, positions, a number to fill with, scale and bias
                 // of a normalisation
  scale,         // of the nearest data or weights before it
  zero_point,    // likewise
  output_scale,  // of output 0
  output_zero_point,  // likewise
};

/// An input or output of an operator. Values whose `variable` is equal have the same dtype.
struct Parameter {
  std::string_view name;
  Types types = type_set::any;
  std::string_view variable = {};
  Presence presence = Presence::required;
  InputRole role = InputRole::data;  // of inputs
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind = AttributeKind::integer;
  bool required = false;
};

struct Schema {
  List<Parameter, 16> inputs, outputs;
  List<AttributeSpec, 16> attributes;

  /// The role of input i; those of a variadic parameter share one.
  constexpr InputRole role(std::size_t i) const {
    if (inputs.empty()) return InputRole::data;
    return inputs[i < inputs.size() ? i : inputs.size() - 1].role;
  }
  /// The number of the first input with the role.
  constexpr std::optional<std::size_t> input_with(InputRole wanted) const {
    for (std::size_t i = 0; i < inputs.size(); i++)
      if (inputs[i].role == wanted) return i;
    return {};
  }
  /// The number of the input that may be weights.
  constexpr std::optional<std::size_t> weights() const {
    const std::optional<std::size_t> i = input_with(InputRole::weights);
    return i ? i : input_with(InputRole::weights_or_data);
  }
  constexpr bool has_attribute(std::string_view name) const {
    for (const AttributeSpec& a : attributes)
      if (a.name == name) return true;
    return false;
  }
};

}  // namespace longshore
