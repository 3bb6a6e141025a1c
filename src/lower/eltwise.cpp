#include "program/instructions/eltwise.hpp"
#include "base/error.hpp"
#include "lower/layer.hpp"

namespace longshore::lower {

/// `chain` is the operand that the layer made or loaded as its input, `side` the other one.
Operation eltwise_operation(LayerEmitter& e, std::size_t stage, Tile chain, Tile side,
                            std::uint32_t side_channel_stride, Tile out,
                            const plan::TileShape& shape) {
  const plan::Stage& s = e.layer().stages[stage];
  const Graph& g = e.graph();
  const Node& n = g.nodes[s.node];
  Eltwise o;
  const std::string_view op = n.op->name;
  o.function = op == "Mul"   ? Eltwise::Function::multiply
               : op == "Sub" ? Eltwise::Function::subtract
                             : Eltwise::Function::add;
  check(op == "Mul" || op == "Sub" || op == "Add",
        "an element-wise operator that place let through");
  const bool side_first = s.side == 0;
  o.a = side_first ? side : chain;
  o.b = side_first ? chain : side;
  o.a_channel_stride = side_first ? side_channel_stride : 1;
  o.b_channel_stride = side_first ? 1 : side_channel_stride;
  o.out = out;
  o.height = static_cast<std::uint32_t>(shape.rows),
  o.width = static_cast<std::uint32_t>(shape.columns);
  o.channels = static_cast<std::uint32_t>(shape.channels);
  const Codes a = codes_of(g[n.input(0)].type), b = codes_of(g[n.input(1)].type),
              y = codes_of(g[n.output()].type);
  o.a_scale = a.scale, o.b_scale = b.scale, o.out_scale = y.scale;
  o.a_zero = a.zero, o.b_zero = b.zero, o.out_zero = y.zero;
  o.lowest = y.lowest, o.highest = y.highest;
  return o;
}

}  // namespace longshore::lower
