#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "forms/form.hpp"
#include "tensor/quant.hpp"

namespace longshore::forms {

std::vector<Tensor> trace(const Graph& g, const Node& n, std::size_t walked) {
  Graph small;
  Node copy = n;
  std::vector<Tensor> inputs;
  const auto& parameters = n.op->schema.inputs;
  const auto variable = [&](std::size_t i) {
    return parameters[std::min(i, parameters.size() - 1)].variable;
  };
  for (std::size_t i = 0; i < n.inputs.size(); i++) {
    if (n.inputs[i] == no_value) continue;
    const Tensor* constant = g.constant(n.inputs[i]);
    const bool data = i == walked || (!variable(i).empty() && variable(i) == variable(walked));
    if (!data && constant) {
      copy.inputs[i] = small.add_constant({}, *constant);
      continue;
    }
    const Shape shape = *g[n.inputs[i]].type.shape();
    std::vector<std::int32_t> all(static_cast<std::size_t>(shape.elements()), -1);
    if (i == walked) std::iota(all.begin(), all.end(), 0);
    inputs.push_back(make_tensor<std::int32_t>(DType::i32, shape, all));
    copy.inputs[i] = small.add_input({}, TensorType(DType::i32, shape));
  }
  for (ValueId& v : copy.outputs)
    if (v != no_value) v = small.add_value({}, {});
  for (ValueId v : copy.outputs)
    if (v != no_value) small.outputs.push_back(v);
  small.add_node(std::move(copy), n.outputs.size());
  std::vector<Tensor> made = evaluate(small, inputs), out;
  for (std::size_t i = 0, k = 0; i < n.outputs.size(); i++)
    out.push_back(n.outputs[i] == no_value ? Tensor{} : std::move(made[k++]));
  return out;
}

Codes codes_of(const TensorType& t) {
  const CodeRange range = code_range(t.dtype);
  return {t.quant.scale[0], t.quant.zero_point[0], range.lowest, range.highest};
}

}  // namespace longshore::forms
