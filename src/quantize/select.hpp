#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.hpp"
#include "tensor/precision.hpp"

namespace longshore {

/// A precision for some nodes: a node's name, the name of one of its outputs, or an operator.
struct NodePrecision {
  std::string node;
  Precision precision = Precision::f32;
};

/// Why a node computes in float.
struct FloatReason {
  enum class Kind : std::uint8_t {
    none,     // it does not
    asked,    // the options name it
    no_form,  // its operator has no integer form
    follows,  // none of its inputs has codes
    found,    // something about the node itself
    last,     // it makes the model's probabilities, which keep float's resolution
  };
  Kind kind = Kind::none;
  std::string text;
  std::string change = {};  // the smallest that would give it codes
};

/// In what numbers each node of a graph computes, and why not in integers.
struct Selection {
  std::vector<Precision> precision;  // per node; f32: it stays float
  std::vector<FloatReason> reasons;  // per node

  bool integer(std::size_t node) const { return is_integer(precision[node]); }
  /// The element type of the activations of an integer node.
  DType activations(std::size_t node) const { return types_of(precision[node]).activations; }
};

struct SelectOptions {
  bool float_final_probabilities = true;
  std::span<const std::string> exclude;
  Precision precision = Precision::w8a8;
  std::span<const NodePrecision> precisions = {};  // the last that names a node holds
};

Selection select_nodes(const Graph&, const SelectOptions&);

/// True where the node's name, an output's name or its operator is in the list.
bool excluded(const Graph&, const Node&, std::span<const std::string> exclude);

/// The inputs that hold activations (not weights, bias, bounds, shapes).
std::vector<std::size_t> data_inputs(const Graph&, const Node&);

/// What a product has that its integer formula lacks: a residual, a transposed input, factors; or
/// nothing.
std::string_view beyond_integer(const Node&);

}  // namespace longshore
