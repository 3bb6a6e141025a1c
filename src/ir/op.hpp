#pragma once
#include <functional>
#include <map>
#include <span>
#include <string_view>

#include "base/list.hpp"
#include "base/status.hpp"
#include "ir/form_spec.hpp"
#include "ir/graph.hpp"
#include "tensor/activation.hpp"
#include "tensor/eval_context.hpp"
#include "tensor/schema.hpp"

namespace longshore {

/// What inference sees of one node, and where it puts the types of the outputs.
class InferContext {
 public:
  virtual const Node& node() const = 0;
  /// Type of input i as if it were not quantised (a quantised i8 shows as f32).
  /// Absent: dtype undefined.
  virtual TensorType input(std::size_t i) const = 0;
  bool has(std::size_t i) const { return node().input(i) != no_value; }
  std::size_t input_count() const { return node().inputs.size(); }
  std::size_t output_count() const { return node().outputs.size(); }
  /// The elements of input i where they are known (constants, shape arithmetic), else null.
  virtual const Tensor* constant(std::size_t i) const = 0;
  /// Sets output i; ignored for an absent output. Not setting it leaves it unknown.
  virtual void output(std::size_t i, TensorType type) = 0;
  /// The elements of output i are known too (Shape, Size); set the type first.
  virtual void value(std::size_t i, Tensor elements) = 0;
  /// Types of the subgraph's outputs for these types of its inputs (its captures are known).
  virtual std::vector<TensorType> infer_subgraph(std::string_view name,
                                                 std::span<const TensorType> inputs) = 0;
  /// Throws; the message gets the node's name before it.
  [[noreturn]] void fail(const std::string& what) const;

  const Attributes& attributes() const { return node().attributes; }
  /// The constant of input i as int64 (i32 or i64 tensors), or nothing.
  std::optional<Ints> integers(std::size_t i) const;

 protected:
  ~InferContext() = default;
};

/// What `normalise` may do around the node that is being imported.
class Rewriter {
 public:
  virtual const Graph& graph() const = 0;
  virtual ValueId constant(Tensor tensor) = 0;
  /// A node before the imported one; returns its first output.
  virtual ValueId before(std::string_view op, std::vector<ValueId> inputs, Attributes = {}) = 0;
  /// Makes the imported node write a new value, and `op` compute its old output 0 from
  /// {that value, extra inputs...}.
  virtual void after(Node&, std::string_view op, std::vector<ValueId> extra_inputs,
                     Attributes = {}) = 0;
  /// The only node that reads a value; null where several do, or an output shows it, or nobody
  /// knows yet.
  virtual const Node* only_reader(ValueId) const { return nullptr; }

 protected:
  ~Rewriter() = default;
};

/// Named integers of a node for target limits: kernel_h, stride_w, rank, channels, ...
using Facts = std::map<std::string, std::int64_t, std::less<>>;

/// What a node is like for facts and placement.
struct NodeTypes {
  const Node& node;
  const Graph& graph;
  const TensorType& input(std::size_t i) const { return graph[node.input(i)].type; }
  const TensorType& output(std::size_t i = 0) const { return graph[node.output(i)].type; }
};

/// How `quantize` treats the operator.
enum class Quant : std::uint8_t {
  none,     // stays in float
  same,     // output has the input's scale and zero point (moves, maximum, views)
  rescale,  // inputs and output have scales of their own; dequantise, eval, quantise
  join,     // moves of several inputs: one scale for all where their ranges are near, else rescale
  integer,  // has eval_quantised: integer arithmetic with its own formula (docs/numbers.md)
  table,    // element-wise unary: a table made by dequantise, eval, quantise
  recode,   // changes nothing but the representation: Quantize, Dequantize, Requantize
};

/// What becomes of the channels of an operator's data: quantize divides them by numbers of their
/// own where the weights before and behind take that back.
enum class Channels : std::uint8_t {
  mixed,        // anything
  scales,       // a multiple of a channel, above zero, gives that multiple of it
  flattens,     // scales, where nothing but channels is left to be put in a row
  sums,         // scales, where all inputs have that multiple; the inputs are added
  differences,  // the same; the second is taken from the first
  convolution,  // those of axis 1 are multiplied by weights [outputs, inputs / groups, ...]
  product,      // those of the last axis are multiplied by weights of rank 2
  normalised,   // those of the last axis get a factor (input 1) and a summand (input 2) each
};

/// One operator: everything that the toolchain knows about it. One file in src/ops defines one.
struct OpDef {
  std::string_view name;
  std::string_view domain = {};  // "" is ai.onnx
  std::string_view doc;
  int since = 1;  // newest opset whose semantics this file implements
  int came = 0;   // the opset that ONNX has the operator since, where that is above 21
  Schema schema;
  /// Older opsets to these semantics, on import. May also turn the node into another operator.
  void (*normalise)(Node&, int opset, Rewriter&) = nullptr;
  void (*infer)(InferContext&) = nullptr;
  /// Bytes of EvalContext::scratch; null: none.
  std::size_t (*scratch)(const ScratchContext&) noexcept = nullptr;
  /// The reference. Null only for operators that `normalise` always replaces.
  Status (*eval)(EvalContext&) noexcept = nullptr;
  /// On quantised inputs and outputs; null: dequantise, eval, quantise, in that order.
  Status (*eval_quantised)(EvalContext&) noexcept = nullptr;
  void (*facts)(const NodeTypes&, Facts&) = nullptr;
  /// Multiply-accumulates of one run; null: none. Types are fully known.
  std::int64_t (*macs)(const NodeTypes&) = nullptr;
  Quant quant = Quant::none;
  Channels channels = Channels::mixed;
  /// What lies far below the greatest number of its row has no part in the output, as in a softmax.
  bool ignores_low = false;
  /// Of Quant::table: it has jumps, poles or a vertical tangent, so that no straight line over 128
  /// codes of 16 bits comes near it: those are computed one by one, not by interpolation.
  bool steep = false;
  /// Of operators with an input whose role is weights: its axis that runs over the output channels,
  /// -1 where none does.
  int (*weight_axis)(const NodeTypes&) = nullptr;
  /// The function of one number that the node computes, if it is one that a product may end with.
  std::optional<Activation> (*activation)(const NodeTypes&) = nullptr;
  /// The operator that computes the same and then an activation (tensor/activation.hpp says how its
  /// attributes tell which); empty where there is none.
  std::string_view (*fused)(const NodeTypes&) = nullptr;
  /// Before quantisation: what the integer formula lacks goes into constants or nodes of its own.
  void (*to_integer)(Node&, Rewriter&) = nullptr;
  /// Of operators that ONNX lacks: the node becomes one that ONNX has, with others around it.
  void (*to_standard)(Node&, Rewriter&) = nullptr;
  /// Of operators that get scales as inputs: the one that computes the same on quantised types.
  std::string_view on_codes = {};
  /// The number that the node wants as the first dim of its data, whatever it is given; 0: any.
  std::int64_t (*first_dim)(const NodeTypes&) = nullptr;
  /// Where lowest < highest: output 0 lies in there whatever the input is. quantize takes it
  /// instead of the observed range: [0, 1] is scale 1/256, zero point -128.
  float lowest = 0, highest = 0;
  /// How the operator would run on an NPU, in the words of a form of src/forms. Null: it cannot.
  FormSpec (*form)(const NodeTypes&) = nullptr;
  bool view = false;  // output 0 is input 0 under other dims: the same bytes
  /// Element i of output 0 depends on element i of the inputs that have its dims, and on nothing
  /// else of them: it may be computed in the place of one of them.
  bool elementwise = false;
  bool picks = false;         // of input 0 only as much is read as output 0 shows
  bool deterministic = true;  // false: random operators, never folded
  /// |got - want| <= float_atol + float_rtol * |want| is how near a fast kernel must come.
  float float_rtol = 1e-5f, float_atol = 1e-6f;
  List<std::string_view> examples;  // graphs as text: documentation and tests in one
};

/// The form of whatever maps each code of one input to a code: 256 entries.
inline FormSpec table_form(const NodeTypes&) { return {.form = "table"}; }
/// The form of what only shows bytes under other dims.
inline FormSpec view_form(const NodeTypes&) { return {.form = "view"}; }
/// The form of what takes elements of input 0 to other places.
inline FormSpec take_form(const NodeTypes&) { return {.form = "move"}; }

namespace ops {
std::span<const OpDef* const> all();  // generated, src/ops/*.cpp
}

/// The operator, or null. "ai.onnx" and "" are the same domain.
const OpDef* find_op(std::string_view domain, std::string_view name);
/// Text spelling: "Conv", "com.microsoft.FusedConv"; throws, suggesting near names.
const OpDef& op_named(std::string_view qualified);
/// "Conv" or "com.microsoft.FusedConv".
std::string qualified_name(const OpDef&);
/// What would let an operator that has none compute with codes, for advice.
std::string integer_form_wanted(const OpDef&);

/// The node's input with that role, or no_value.
ValueId input_with(const Node&, InputRole);
/// The node's weights: its constant input with the role weights or weights_or_data, or no_value.
ValueId weights_of(const Graph&, const Node&);
/// What the node does to each number, or nothing where it is no activation.
std::optional<Activation> activation_of(const Graph&, const Node&);
/// The node with an activation after it as one node; nothing where there is none of that kind.
std::optional<Node> fused_with(const Graph&, const Node&, const Activation&);

struct InferOptions {
  std::map<std::string, std::int64_t, std::less<>> dims;    // symbol -> number
  std::map<std::string, Tensor, std::less<>> input_values;  // input name -> constant
  std::map<std::string, Shape, std::less<>> input_shapes;   // input name -> dims
};

/// Infers all types anew; `options` specialise the graph: named inputs become constants.
/// Throws where types or dims contradict, naming the node. Subgraphs included.
Graph infer(const Graph&, const InferOptions& options = {});

/// Elements of computed values that follow from constants and dims (shape arithmetic); only small
/// tensors are followed.
std::map<ValueId, Tensor> known_elements(const Graph&);

struct EvaluateOptions {
  /// Called with every value as it is computed (of the main graph; inputs and constants excluded).
  std::function<void(ValueId, const TensorView&)> observe;
};

/// Runs the reference kernels: the one truth that everything else is compared with. `inputs` are
/// in the order of graph.inputs. Throws on a wrong input, or when an operator reports an error.
std::vector<Tensor> evaluate(const Graph&, std::span<const Tensor> inputs,
                             const EvaluateOptions& options = {});

/// Runs one node of the graph on these inputs, quantised or not, as `evaluate` would.
std::vector<Tensor> evaluate_node(const Graph&, const Node&, std::span<const Tensor> inputs);

}  // namespace longshore
