#include <numeric>

#include "program/instructions/requantise.hpp"
#include "program/instructions/table.hpp"
#include "base/error.hpp"
#include "lower/layer.hpp"

namespace longshore::lower {

std::vector<std::int8_t> table_of(const Graph& g, const Node& n) {
  std::vector<std::int8_t> codes(256);
  std::iota(codes.begin(), codes.end(), std::int8_t{-128});
  TensorType in = g[n.input(0)].type, out = g[n.output()].type;
  in.dims = out.dims = {Dim(256)};
  Graph small;
  small.numbers = g.numbers;
  Node copy = n;
  copy.inputs[0] = small.add_input("x", in);
  std::vector<Tensor> inputs(n.inputs.size());
  inputs[0] = make_tensor<std::int8_t>(DType::i8, Shape{256}, codes);
  for (std::size_t i = 1; i < n.inputs.size(); i++) {
    if (n.inputs[i] == no_value) continue;
    inputs[i] = *g.constant(n.inputs[i]);
    copy.inputs[i] = small.add_constant({}, inputs[i]);
    small[copy.inputs[i]].type.quant = g[n.inputs[i]].type.quant;
  }
  copy.outputs = {small.add_value("y", out)};
  const std::vector<Tensor> y = evaluate_node(small, copy, inputs);
  const std::span<const std::int8_t> values = y[0].values<std::int8_t>();
  check(values.size() == 256, "an operator of the form table that is not element-wise");
  return {values.begin(), values.end()};
}

Operation table_operation(LayerEmitter& e, std::size_t stage, Tile in, Tile out,
                          const plan::TileShape& shape) {
  Table o;
  o.in = in, o.out = out;
  o.height = static_cast<std::uint32_t>(shape.rows),
  o.width = static_cast<std::uint32_t>(shape.columns);
  o.channels = static_cast<std::uint32_t>(shape.channels);
  o.table = e.table(stage);
  return o;
}

Operation requantise_operation(LayerEmitter& e, std::size_t stage, Tile in, Tile out,
                               const plan::TileShape& shape) {
  const TensorType& from = stage == 0 ? e.input_type() : e.output_type(stage - 1);
  const Codes x = codes_of(from), y = codes_of(e.output_type(stage));
  Requantise o;
  o.in = in, o.out = out;
  o.height = static_cast<std::uint32_t>(shape.rows),
  o.width = static_cast<std::uint32_t>(shape.columns);
  o.channels = static_cast<std::uint32_t>(shape.channels);
  o.in_scale = x.scale, o.out_scale = y.scale;
  o.in_zero = x.zero, o.out_zero = y.zero;
  o.lowest = y.lowest, o.highest = y.highest;
  return o;
}

}  // namespace longshore::lower
