#include <algorithm>
#include <map>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "ir/quantised.hpp"

namespace longshore {
namespace {

/// No single value of a reference run may be larger.
constexpr std::int64_t value_bytes_limit = std::int64_t{1} << 34;

/// Bytes that may grow; what was written stays.
struct Buffer {
  std::vector<std::byte> bytes;
  TensorView view;

  Status resize(DType dtype, const Shape& dims, QuantView quant, MutableView& out) noexcept {
    const std::int64_t n = checked_elements(dims);
    const auto size = static_cast<std::int64_t>(size_bytes(dtype));
    if (n < 0 || size == 0 || n > value_bytes_limit / size)
      return Status::error(Code::exhausted,
                           "an output of %lld elements is over the limit of %lld bytes",
                           static_cast<long long>(n), static_cast<long long>(value_bytes_limit));
    try {
      bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(n * size, 1)));
    } catch (const std::bad_alloc&) {
      return Status::error(Code::exhausted, "no memory for %lld bytes",
                           static_cast<long long>(n * size));
    }
    out = {dtype, dims, bytes.data(), quant};
    view = out;
    return {};
  }
};

struct Frame;
Status run_graph(const Graph&, std::span<const TensorView> inputs,
                 std::span<const TensorView> captured, std::vector<Buffer>& outputs,
                 const EvaluateOptions&, std::string& where) noexcept;

/// One running graph: a view of each value.
struct Frame {
  const Graph& g;
  std::vector<TensorView> views;
  std::vector<Buffer> buffers;  // of computed values
  std::string& where;           // the node that failed

  TensorView view(ValueId v) const { return v == no_value ? TensorView{} : views[index(v)]; }
};

class HeapContext final : public EvalContext {
 public:
  HeapContext(Frame& frame, const Node& node, std::span<const TensorView> in,
              std::span<std::byte> scratch)
      : EvalContext(node.attributes, in, frame.g.numbers, scratch), frame_(frame), node_(node) {}

  std::size_t output_count() const noexcept override { return node_.outputs.size(); }
  bool wants(std::size_t i) const noexcept override { return node_.output(i) != no_value; }
  DType output_dtype(std::size_t i) const noexcept override { return type(i).dtype; }
  QuantView output_quant(std::size_t i) const noexcept override { return type(i).quant.view(); }
  Shape inferred_dims(std::size_t i) const noexcept override {
    Shape out;
    for (const Dim& d : type(i).dims) out.push(d.value);
    return out;
  }
  Status output(std::size_t i, const Shape& dims, MutableView& view) noexcept override {
    if (!wants(i)) return Status::error(Code::internal, "output %zu is not wanted", i);
    Buffer& b = frame_.buffers[index(node_.outputs[i])];
    LONGSHORE_TRY(b.resize(type(i).dtype, dims, type(i).quant.view(), view));
    frame_.views[index(node_.outputs[i])] = b.view;
    return {};
  }

  Status run(std::string_view name, std::span<const TensorView> in,
             std::span<TensorView> out) noexcept override {
    for (std::size_t s = 0; s < node_.subgraphs.size(); s++) {
      const Subgraph& sub = node_.subgraphs[s];
      if (sub.name != name) continue;
      try {
        if (turns_.empty()) turns_.resize(node_.subgraphs.size());
        Turn& turn = turns_[s];
        std::vector<Buffer>& buffers = turn.buffers[turn.next];
        turn.next ^= 1;
        buffers.clear();
        std::vector<TensorView> captured;
        for (ValueId v : sub.captures) captured.push_back(frame_.view(v));
        LONGSHORE_TRY(run_graph(sub.body, in, captured, buffers, {}, frame_.where));
        if (out.size() != buffers.size())
          return Status::error(Code::bad_model, "the subgraph has %zu outputs, not %zu",
                               buffers.size(), out.size());
        for (std::size_t i = 0; i < out.size(); i++) out[i] = buffers[i].view;
        return {};
      } catch (const std::bad_alloc&) {
        return Status::error(Code::exhausted, "out of memory in a subgraph");
      }
    }
    return Status::error(Code::internal, "no subgraph of that name");
  }

 private:
  struct Turn {
    std::vector<Buffer> buffers[2];
    int next = 0;
  };
  const TensorType& type(std::size_t i) const { return frame_.g[node_.outputs[i]].type; }

  Frame& frame_;
  const Node& node_;
  std::vector<Turn> turns_;
};

Status run_node(Frame& frame, const Node& node) {
  std::vector<TensorView> in;
  for (ValueId v : node.inputs) in.push_back(frame.view(v));
  const bool quantised =
      std::any_of(in.begin(), in.end(), [](const TensorView& v) { return v.quant.count > 0; }) ||
      std::any_of(node.outputs.begin(), node.outputs.end(),
                  [&](ValueId v) { return v != no_value && frame.g[v].type.quantised(); });
  const OpDef& op = *node.op;
  if (!op.eval) return Status::error(Code::internal, "the operator has no reference kernel");
  std::vector<std::byte> scratch(op.scratch ? op.scratch({node.attributes, in}) + 64 : 0);
  std::span<std::byte> aligned = scratch;
  if (!scratch.empty()) {
    void* start = scratch.data();
    std::size_t space = scratch.size();
    std::align(64, space - 64, start, space);
    aligned = {static_cast<std::byte*>(start), scratch.size() - 64};
  }
  HeapContext context(frame, node, in, aligned);
  if (!quantised) return op.eval(context);
  if (op.eval_quantised) return op.eval_quantised(context);
  return eval_dequantised(op, context);
}

Status run_graph(const Graph& g, std::span<const TensorView> inputs,
                 std::span<const TensorView> captured, std::vector<Buffer>& outputs,
                 const EvaluateOptions& options, std::string& where) noexcept {
  try {
    Frame frame{g, std::vector<TensorView>(g.values.size()), std::vector<Buffer>(g.values.size()),
                where};
    if (inputs.size() != g.inputs.size())
      return Status::error(Code::bad_argument, "%zu inputs are given, the graph takes %zu",
                           inputs.size(), g.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); i++) {
      frame.views[index(g.inputs[i])] = inputs[i];
      frame.views[index(g.inputs[i])].quant = g[g.inputs[i]].type.quant.view();
    }
    for (std::size_t i = 0; i < captured.size(); i++)
      frame.views[index(g.captured[i])] = captured[i];
    for (std::size_t i = 0; i < g.values.size(); i++)
      if (g.values[i].constant.present()) {
        frame.views[i] = g.values[i].constant.view();
        frame.views[i].quant = g.values[i].type.quant.view();
      }
    std::vector<int> left = use_counts(g);
    const auto done = [&](ValueId v) {
      if (v != no_value && --left[index(v)] == 0) frame.buffers[index(v)] = {};
    };
    for (const Node& node : g.nodes) {
      const Status status = run_node(frame, node);
      if (!status.ok()) {
        if (where.empty()) where = describe(node);
        return status;
      }
      for (ValueId v : node.outputs) {
        if (v == no_value) continue;
        const TensorView& view = frame.views[index(v)];
        const TensorType& type = g[v].type;
        if (type.ranked && !view.present()) {
          where = describe(node);
          return Status::error(Code::internal, "output '%.100s' was not computed",
                               g[v].name.c_str());
        }
        bool fits = !type.ranked || type.rank() == view.shape.rank;
        for (int i = 0; fits && type.ranked && i < type.rank(); i++) {
          const Dim& d = type.dims[static_cast<std::size_t>(i)];
          fits = !d.known() || d.value == view.shape[i];
        }
        if (!fits) {
          where = describe(node);
          return Status::error(Code::internal, "output '%.100s' has other dims than were inferred",
                               g[v].name.c_str());
        }
        if (options.observe) options.observe(v, view);
      }
      std::ranges::for_each(node.inputs, done);
      for (const Subgraph& s : node.subgraphs) std::ranges::for_each(s.captures, done);
    }
    for (ValueId v : g.outputs) {  // copied: an output may be an input, a constant or named twice
      const TensorView& from = frame.views[index(v)];
      MutableView to;
      LONGSHORE_TRY(outputs.emplace_back().resize(from.dtype, from.shape, from.quant, to));
      if (from.bytes() > 0) std::memcpy(to.data, from.data, from.bytes());
    }
    return {};
  } catch (const std::bad_alloc&) {
    return Status::error(Code::exhausted, "out of memory");
  }
}

void check_input(const Graph& g, ValueId v, const Tensor& t) {
  const TensorType& want = g[v].type;
  bool fits = want.dtype == t.dtype && (!want.ranked || want.rank() == t.shape.rank);
  for (int i = 0; fits && want.ranked && i < want.rank(); i++) {
    const Dim& d = want.dims[static_cast<std::size_t>(i)];
    fits = !d.known() || d.value == t.shape[i];
  }
  if (!fits)
    fail(Code::bad_argument, "input '", g[v].name, "' is ", print(want), ", found ",
         print(TensorType(t.dtype, t.shape)));
}

}  // namespace

std::vector<Tensor> evaluate(const Graph& g, std::span<const Tensor> inputs,
                             const EvaluateOptions& options) {
  if (inputs.size() != g.inputs.size())
    fail(Code::bad_argument, inputs.size(), " inputs are given, the graph takes ", g.inputs.size());
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < inputs.size(); i++) {
    check_input(g, g.inputs[i], inputs[i]);
    views.push_back(inputs[i].view());
  }
  std::vector<Buffer> buffers;
  std::string where;
  const Status status = run_graph(g, views, {}, buffers, options, where);
  require(status, where);
  std::vector<Tensor> out;
  for (Buffer& b : buffers)
    out.push_back({b.view.dtype, b.view.shape, make_blob(std::move(b.bytes))});
  return out;
}

std::vector<Tensor> evaluate_node(const Graph& whole, const Node& from,
                                  std::span<const Tensor> inputs) {
  // A graph of the node's own values: a frame for all values of a large graph would cost more than
  // the node.
  Graph g;
  g.numbers = whole.numbers;
  Node node = from;
  std::map<ValueId, ValueId> own;
  const auto enter = [&](ValueId& v) {
    if (v == no_value) return;
    const auto [it, fresh] = own.try_emplace(v, ValueId(g.values.size()));
    if (fresh) g.values.push_back({{}, whole[v].type, {}, -1});
    v = it->second;
  };
  std::ranges::for_each(node.inputs, enter);
  for (Subgraph& s : node.subgraphs) std::ranges::for_each(s.captures, enter);
  std::ranges::for_each(node.outputs, enter);
  std::string where;
  Frame frame{g, std::vector<TensorView>(g.values.size()), std::vector<Buffer>(g.values.size()),
              where};
  for (std::size_t i = 0; i < inputs.size() && i < node.inputs.size(); i++) {
    if (node.inputs[i] == no_value) continue;
    frame.views[index(node.inputs[i])] = inputs[i].view();
    frame.views[index(node.inputs[i])].quant = g[node.inputs[i]].type.quant.view();
  }
  require(run_node(frame, node), describe(node));
  std::vector<Tensor> out;
  for (ValueId v : node.outputs) {
    if (v == no_value) {
      out.emplace_back();
      continue;
    }
    Buffer& b = frame.buffers[index(v)];
    out.push_back({b.view.dtype, b.view.shape, make_blob(std::move(b.bytes))});
  }
  return out;
}

}  // namespace longshore
