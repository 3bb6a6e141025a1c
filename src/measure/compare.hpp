// Comparison layer by layer. Two sides are matched by the names of values; docs/compare.md is the
// chapter.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/op.hpp"
#include "measure/difference.hpp"

namespace longshore {

/// What a run computed, by the name of the value.
using Values = std::map<std::string, Tensor, std::less<>>;

/// Runs one side as a whole and gives every value that it computes.
using RunAll = std::function<Values(std::span<const Tensor> inputs)>;
/// Runs a graph of a single node on inputs in the order of its inputs; gives its outputs.
using RunNode =
    std::function<std::vector<Tensor>(const Graph& one_node, std::span<const Tensor> inputs)>;

/// One value that a node of the reference computes.
struct LayerDifference {
  std::string node, op, value;
  std::size_t position = 0;  // of the node in the reference graph
  TensorType type;
  Bound bound;
  Difference difference;
};

/// A value of the reference that was not held against another in every sample.
struct NotCompared {
  std::string value;
  std::string reason;  // why there is nothing to compare; empty: there should have been
  bool operator==(const NotCompared&) const = default;
};

enum class Strictness : std::uint8_t {
  bytes,      // every byte
  op_bounds,  // integers byte by byte, floats within the bound that the operator states
  outputs,  // the same, but floats within 1e-4 of the largest element: errors of whole runs add up
};

/// Holds what another engine computes against the reference kernels, value by value.
class Comparison {
 public:
  /// `reference` is the graph whose values both sides compute.
  Comparison(Graph reference, Strictness);

  /// `entire`: the other side fed itself; it ran on the same inputs. Values that it does not have
  /// are not compared: see `missing`. Returns the reference's outputs.
  std::vector<Tensor> add_entire(std::span<const Tensor> inputs, const Values& got);
  /// `single`: each node alone is run on the reference's inputs.
  void add_single(std::span<const Tensor> inputs, const RunNode&);

  const Graph& reference() const { return reference_; }
  std::size_t samples() const { return samples_; }
  /// One entry for each value that was compared, in the order of the reference graph.
  std::vector<LayerDifference> layers() const;
  /// Values that the other side did not give in every sample, in the order of the reference graph.
  std::vector<NotCompared> missing() const;

 private:
  LayerDifference& layer(std::size_t node, std::size_t output);

  Graph reference_;
  Strictness strictness_;
  std::size_t samples_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, LayerDifference> layers_;  // by node, output
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> times_;       // compared so often
  std::map<ValueId, bool> empty_;  // had no element in any sample
  std::map<ValueId, std::pair<std::size_t, std::size_t>> made_by_;
  bool single_ = false;
};

/// Values that the reference kernels compute for these inputs.
Values reference_values(const Graph&, std::span<const Tensor> inputs);

/// A graph of that node alone: its inputs and what its subgraphs capture are inputs, constants stay
/// constants. `inputs` gets the values of the outer graph that its inputs stand for.
Graph single_node(const Graph&, const Node&, std::vector<ValueId>& inputs);

/// Float against quantised: how far each value of the quantised graph, dequantised, is from the
/// value of the same name in the float graph that it was made from (a name that `quantize` gave
/// the suffix _q included). Both sides are fed themselves.
std::vector<LayerDifference> compare_precision(const Graph& float_graph, const Graph& quantised,
                                               std::span<const std::vector<Tensor>> samples);

/// Sums over layers, and the first layer that differs, or null.
struct Totals {
  std::int64_t bytes = 0, different_bytes = 0;
  std::size_t layers = 0, different_layers = 0;
  const LayerDifference* first = nullptr;
};
Totals total(std::span<const LayerDifference>);

/// "node 'x' (Conv): value 'y' at [0,1,2], sample 3: got 4, want 5 (7 of 64 elements differ)".
std::string describe(const LayerDifference&);

}  // namespace longshore
