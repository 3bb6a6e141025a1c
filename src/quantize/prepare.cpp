#include "quantize/prepare.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

bool has_attribute(const OpDef& op, std::string_view name) {
  return std::any_of(op.schema.attributes.begin(), op.schema.attributes.end(),
                     [&](const AttributeSpec& a) { return a.name == name; });
}

Tensor scaled(const Tensor& t, float factor) {
  std::vector<float> values(t.values<float>().begin(), t.values<float>().end());
  for (float& x : values) x *= factor;
  return make_floats(t.shape, values);
}

Tensor transposed(const Tensor& t) {
  const std::int64_t rows = t.shape[0], columns = t.shape[1];
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t j = 0; j < columns; j++)
    for (std::int64_t i = 0; i < rows; i++)
      values.push_back(t.values<float>()[static_cast<std::size_t>(i * columns + j)]);
  return make_floats(Shape{columns, rows}, values);
}

class Preparer {
 public:
  explicit Preparer(const Graph& from) : out_(from) { out_.nodes.clear(); }

  Graph run(const Graph& from, const std::function<bool(const Node&)>& wanted) {
    for (const Node& n : from.nodes) {
      if (!wanted(n)) {
        out_.nodes.push_back(n);
        continue;
      }
      Node copy = n;
      gemm(copy);
      split(std::move(copy));
    }
    sort_nodes(out_);
    return tidy(infer(out_));
  }

 private:
  ValueId value_like(ValueId v, std::string_view suffix) {
    return out_.add_value(out_[v].name + std::string(suffix), out_[v].type);
  }

  /// B to transB=1, alpha into B, beta into C, C to a vector.
  void gemm(Node& n) {
    if (!n.op->weight_axis || !has_attribute(*n.op, "transB")) return;
    const Tensor* b = out_.constant(n.input(1));
    if (!b || b->dtype != DType::f32 || b->shape.rank != 2 ||
        n.attributes.integer("transA", 0) != 0)
      return;
    const Tensor* c = out_.constant(n.input(2));
    const bool transposed_already = n.attributes.integer("transB", 0) != 0;
    const std::int64_t channels = b->shape[transposed_already ? 0 : 1];
    if (n.input(2) != no_value) {
      if (!c || c->dtype != DType::f32) return;
      const bool vector =
          c->elements() == 1 || (c->elements() == channels && c->shape.back() == channels);
      if (!vector) return;
    }
    const float alpha = n.attributes.real("alpha", 1), beta = n.attributes.real("beta", 1);
    if (!transposed_already || alpha != 1) {
      const Tensor weights = scaled(transposed_already ? *b : transposed(*b), alpha);
      n.inputs[1] = out_.add_constant(out_[n.inputs[1]].name + "_rows", weights);
      n.attributes.set("transB", std::int64_t{1});
      n.attributes.erase("alpha");
    }
    if (n.input(2) == no_value) return;
    c = out_.constant(n.inputs[2]);  // add_constant may have moved it
    if (beta != 1 || c->shape.rank != 1 || c->elements() != channels) {
      const Tensor bias = scaled(*c, beta);
      std::vector<float> values(bias.values<float>().begin(), bias.values<float>().end());
      values.resize(static_cast<std::size_t>(channels), values[0]);
      n.inputs[2] = out_.add_constant(out_[n.inputs[2]].name + "_vector",
                                      make_floats(Shape{channels}, values));
      n.attributes.erase("beta");
    }
  }

  /// Fused nodes: Conv(x, w, b), then Add of the residual, then the activation, as far as needed.
  void split(Node n) {
    const std::string activation(n.attributes.text("activation", ""));
    const ValueId residual = n.input(3);
    const bool clamp = activation.empty() || activation == "Relu" || activation == "Clip";
    if (!has_attribute(*n.op, "activation") || (clamp && residual == no_value)) {
      out_.nodes.push_back(std::move(n));
      return;
    }
    constexpr std::string_view fused = "Fused";
    check(n.op->name.starts_with(fused), "an operator with a fused activation is named Fused...");
    std::vector<float> parameters(n.attributes.reals("activation_params").begin(),
                                  n.attributes.reals("activation_params").end());
    for (std::string_view name : {"activation_alpha", "activation_beta"})
      if (n.attributes.has(name)) parameters.push_back(n.attributes.real(name));
    for (std::string_view name : {"activation", "activation_params", "activation_alpha",
                                  "activation_beta", "activation_gamma"})
      n.attributes.erase(name);
    const ValueId result = n.outputs[0];
    const Origin origin = n.origin;
    n.op = &op_named(n.op->name.substr(fused.size()));
    if (n.inputs.size() > 3) n.inputs.resize(3);
    while (n.inputs.back() == no_value) n.inputs.pop_back();
    ValueId last =
        activation.empty() && residual == no_value ? result : value_like(result, "_linear");
    n.outputs = {last};
    out_.nodes.push_back(std::move(n));
    if (residual != no_value) {
      const ValueId sum = activation.empty() ? result : value_like(result, "_sum");
      out_.nodes.push_back({&op_named("Add"), {last, residual}, {sum}, {}, {}, origin});
      last = sum;
    }
    if (activation.empty()) return;
    Node act{&op_named(activation), {last}, {result}, {}, {}, origin};
    const bool as_inputs = act.op->schema.inputs.size() > 1;  // Clip takes min and max as inputs
    for (std::size_t i = 0; i < parameters.size(); i++) {
      if (as_inputs)
        act.inputs.push_back(out_.add_constant({}, make_floats({}, std::span(&parameters[i], 1))));
      else
        act.attributes.set(i == 0 ? "alpha" : "beta", parameters[i]);
    }
    out_.nodes.push_back(std::move(act));
  }

  Graph out_;
};

}  // namespace

Graph prepare_for_quantisation(const Graph& g, const std::function<bool(const Node&)>& wanted) {
  return Preparer(g).run(g, wanted);
}

}  // namespace longshore
