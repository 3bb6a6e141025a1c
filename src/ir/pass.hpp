#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/list.hpp"
#include "ir/op.hpp"

namespace longshore {

/// When a pass runs. Passes of one stage have no order among themselves: a test runs each stage
/// in random order and compares meanings.
enum class Stage : std::uint8_t {
  simplify,  // constants, dead ends, no-ops: always better
  fuse,      // several operators into one; runs together with `simplify`
  unfold,    // one operator into several that do better; runs where nothing else is left to do
};

/// A graph before and after, as text: the documentation, the example and the test of a pass.
/// `after` empty: the pass must leave `before` as it is.
struct PassCase {
  std::string_view before, after;
};

/// A rule's look at one node, and the replacement that it builds.
class Match {
 public:
  Match(Graph& g, std::size_t node, const std::vector<int>& uses) : g_(g), at_(node), uses_(uses) {}

  const Graph& graph() const { return g_; }
  const Node& node() const { return g_.nodes[at_]; }
  bool is(std::string_view op) const { return is(node(), op); }
  /// "Conv", or "com.microsoft.FusedConv".
  static bool is(const Node& n, std::string_view op);

  /// The node that computes v if it is of operator `op`, else null. v may be no_value.
  const Node* def(ValueId v, std::string_view op) const;
  /// Of no_value: not known.
  const TensorType& type(ValueId v) const {
    static const TensorType unknown = TensorType::unranked(DType::undefined);
    return v == no_value ? unknown : g_[v].type;
  }
  const Tensor* constant(ValueId v) const { return g_.constant(v); }
  /// The one element of a float (f32, f64, f16) or integer constant, as double.
  std::optional<double> scalar(ValueId v) const;
  /// The same where the constant broadcasts with x and leaves x its dims: a constant of higher rank
  /// would give the result axes that x has not.
  std::optional<double> scalar(ValueId v, ValueId beside_x) const;
  /// Uses by nodes, captures and as outputs of the graph.
  int uses(ValueId v) const { return index(v) < uses_.size() ? uses_[index(v)] : 1; }
  bool is_output(ValueId v) const;

  /// New values of the replacement. Nodes without an origin get this node's.
  ValueId add_constant(Tensor tensor);
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId add_node(Node node);
  /// Everyone who used `old` (an output of this node) shall use `now`. Outputs of the graph keep
  /// their names, and every value keeps its type, dims included; where that is impossible, the
  /// whole rewrite is dropped.
  void replace(ValueId old, ValueId now) { replaced_.emplace_back(old, now); }

  std::span<const std::pair<ValueId, ValueId>> replaced() const { return replaced_; }

 private:
  Graph& g_;
  std::size_t at_;
  const std::vector<int>& uses_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

/// A change of a graph that keeps its meaning (floats within rounding). Either a local rule or a
/// function of the whole graph. One file in src/optimize defines one.
struct Pass {
  Stage stage = Stage::simplify;
  std::string_view doc;
  /// Looks at the node; calls replace() and returns true, or returns false.
  bool (*rewrite)(Match&) = nullptr;
  /// Or: the new graph, equal to the old one where nothing was to do. Must treat subgraphs too, and
  /// leave the types of inputs and outputs.
  Graph (*run)(const Graph&) = nullptr;
  List<PassCase> cases;
};

/// Rewrites one node by the same rules; nothing where `rewrite` returns false or would change the
/// type of what it replaces.
std::optional<Graph> rewrite_node(const Graph&, std::size_t node,
                                  const std::function<bool(Match&)>& rewrite);

/// Applies one pass until nothing changes; subgraphs included. Pure.
Graph apply(const Pass&, const Graph&);

}  // namespace longshore
