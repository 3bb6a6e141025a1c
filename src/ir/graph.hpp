#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <memory>
#include <vector>

#include "ir/type.hpp"
#include "tensor/attribute.hpp"
#include "tensor/requantise.hpp"
#include "tensor/state.hpp"

namespace longshore {

struct OpDef;
struct Graph;

/// An index into Graph::values: a Graph is a value and can be copied and kept.
enum class ValueId : std::uint32_t {};
/// An optional input or output that is not there.
inline constexpr ValueId no_value{0xffffffffu};
constexpr std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

/// Where a node came from; every message names it.
struct Origin {
  std::string name;  // ONNX node name, or that of its first output
  std::string op;    // operator as the file spelt it, if it is another one now
  int opset = 0;     // 0: made by Longshore
  bool operator==(const Origin&) const = default;
};

/// A graph inside a node (If, Loop, Scan). body.captured[i] stands for the outer value captures[i].
struct Subgraph;

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs, outputs;  // no_value where absent; trailing ones trimmed
  Attributes attributes;
  std::vector<Subgraph> subgraphs;  // sorted by name
  Origin origin;

  ValueId input(std::size_t i) const { return i < inputs.size() ? inputs[i] : no_value; }
  ValueId output(std::size_t i = 0) const { return i < outputs.size() ? outputs[i] : no_value; }
  bool operator==(const Node&) const;
};

/// How an NPU walks the dims of a value as batch, height, width and channels.
enum class AxisOrder : std::uint8_t {
  channels_first,  // NCHW, NCL, NC: images
  channels_last,   // NHWC, NWC, WC: rows of features
};

struct Value {
  std::string name;  // unique in its graph
  TensorType type;
  Tensor constant;  // present: the value is a constant
  int def = -1;     // index of the defining node; -1: input, captured or constant
  AxisOrder order = AxisOrder::channels_first;  // `place` decides
  bool operator==(const Value&) const = default;
};

/// Which names a graph's values have, so that a new one is found to be free without a walk over all
/// of them. It follows the values by itself and is no part of the graph: copies start without it.
class NameIndex {
 public:
  NameIndex() noexcept;
  NameIndex(const NameIndex&) noexcept;
  NameIndex(NameIndex&&) noexcept;
  NameIndex& operator=(const NameIndex&) noexcept;
  NameIndex& operator=(NameIndex&&) noexcept;
  ~NameIndex();

  bool taken(const std::vector<Value>&, const std::string& name);
  /// The name of a value was changed in place.
  void renamed(const std::vector<Value>&, std::size_t value);

 private:
  struct Ids;  // not here: nearly every file would have a hash table compiled
  std::unique_ptr<Ids> ids_;
  std::size_t known_ = 0;  // values that it has seen
};

struct Graph {
  Graph();
  // Not here: nearly every file would have the copying of all that compiled.
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  std::string name;
  Rounding numbers = Rounding::f32_even;
  std::vector<Value> values;
  std::vector<Node> nodes;  // in topological order
  std::vector<ValueId> inputs, outputs;
  std::vector<ValueId> captured;  // in a subgraph: values of the surrounding graph
  std::vector<StateSlot> states;  // of the main graph; places in `inputs` and `outputs`

  const Value& operator[](ValueId v) const { return values[index(v)]; }
  Value& operator[](ValueId v) { return values[index(v)]; }
  /// The node that computes v, or null.
  const Node* def(ValueId v) const {
    if (v == no_value || values[index(v)].def < 0) return nullptr;
    return &nodes[static_cast<std::size_t>(values[index(v)].def)];
  }
  /// The constant's tensor, or null (also for no_value).
  const Tensor* constant(ValueId v) const {
    return v != no_value && values[index(v)].constant.present() ? &values[index(v)].constant
                                                                : nullptr;
  }
  bool operator==(const Graph&) const;

  /// New values. An empty name, or one that is taken, is made unique.
  ValueId add_value(std::string_view name, TensorType type);
  ValueId add_input(std::string_view name, TensorType type);
  ValueId add_captured(std::string_view name, TensorType type);
  ValueId add_constant(std::string_view name, Tensor tensor);
  /// Appends the node, infers the types of its outputs, and returns its index. Outputs that are
  /// not given are made (`output_count` of them). Throws on a wrong type or dims.
  int add_node(Node node, std::size_t output_count = 1);
  /// The same in short: returns the first output.
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
              std::string_view output_name = {});
  /// The two values exchange their names.
  void swap_names(ValueId, ValueId);

 private:
  NameIndex names_;
};

struct Subgraph {
  std::string name;  // of the attribute: then_branch, body, ...
  Graph body;
  std::vector<ValueId> captures;  // values of the outer graph
  bool operator==(const Subgraph&) const = default;
};

/// How often each value is used: by nodes, by captures and as an output.
std::vector<int> use_counts(const Graph&);

/// Drops values and nodes that no output needs (inputs stay) and numbers the rest in the order
/// of the text form. What every stage returns.
Graph tidy(const Graph&);

/// Sorts the nodes topologically (stable), sets Value::def, tidies nothing. Throws on a cycle,
/// naming a node of it.
void sort_nodes(Graph&);

/// Throws if the graph breaks a rule: ids, topological order, types that inference contradicts,
/// schema, capture lists, unique names. The message names node and value.
void verify(const Graph&);

/// parse(print(g)) == tidy(g). The text is what tests, dumps and the report show; docs/text.md has
/// the grammar.
Graph parse(std::string_view text);
std::string print(const Graph&);
/// The same with large constants as `f32[64,3,7,7] {...}`; for people, not for parse.
std::string summary(const Graph&);
std::string print(const TensorType&);
/// "'name' (Op)" for messages.
std::string describe(const Node&);

}  // namespace longshore
