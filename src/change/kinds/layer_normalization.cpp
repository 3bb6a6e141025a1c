#include <vector>

#include "change/change.hpp"
#include "optimize/fold.hpp"

namespace longshore::changes {
namespace {

/// The mean of each row as a product with a column of equal numbers: no other order of axes.
ValueId mean(Match& m, ValueId x, std::int64_t row) {
  const std::vector<float> share(static_cast<std::size_t>(row), 1 / static_cast<float>(row));
  return m.add("MatMul", {x, m.add_constant(make_floats(Shape{row, 1}, share))});
}

bool rewrite(Match& m, const Obstacles&) {
  const Node n = m.node();
  const TensorType& x = m.type(n.inputs[0]);
  if (!x.ranked || x.rank() < 2 || x.dtype != DType::f32 || !x.dims.back().known() ||
      x.dims.back().value < 1 || n.outputs.size() != 1 ||
      resolve_axis(n.attributes.integer("axis", -1), x.rank()) != x.rank() - 1)
    return false;
  const std::int64_t row = x.dims.back().value;
  const std::vector<float> epsilon = {n.attributes.real("epsilon", 1e-5f)};
  const ValueId deviation = m.add("Sub", {n.inputs[0], mean(m, n.inputs[0], row)}),
                variance = mean(m, m.add("Mul", {deviation, deviation}), row),
                root = m.add(
                    "Sqrt",
                    {m.add("Add", {variance, m.add_constant(make_floats(Shape{}, epsilon))})}),
                factor = m.add("Reciprocal", {root});
  ValueId y = m.add("Mul", {m.add("Mul", {deviation, factor}), n.inputs[1]});
  if (n.input(2) != no_value) y = m.add("Add", {y, n.inputs[2]});
  m.replace(n.outputs[0], y);
  return true;
}

bool removes(const Wanted& w) {
  return w.kind == Wanted::Kind::target &&
         (w.what == "[forms.norm]" || w.what == "npu.vector.norm_cycles");
}

}  // namespace

extern constinit const ChangeDef change_layer_normalization = {
    .doc = "A LayerNormalization of the last axis is products, a table and element-wise operators",
    .answers = "deviations, their squares and factors are rounded to codes of their own",
    .operators = {"LayerNormalization"},
    .removes = removes,
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[3,2], s: f32[2], b: f32[2]) { y = LayerNormalization(x, s, b, epsilon=0.5) "
          "return y }",
          "(x: f32[3,2], s: f32[2], b: f32[2]) { m = MatMul(x, f32[2,1]{0.5, 0.5}) d = Sub(x, m) "
          "q = Mul(d, d) v = MatMul(q, f32[2,1]{0.5, 0.5}) e = Add(v, f32[]{0.5}) r = Sqrt(e) f = "
          "Reciprocal(r) k = Mul(d, f) t = Mul(k, s) y = Add(t, b) return y }",
          {{Wanted::Kind::target, "[forms.norm]", "", ""}}},
         {"(x: f32[2,3,2], s: f32[3,2]) { y = LayerNormalization(x, s, axis=1) return y }",
          "",
          {{Wanted::Kind::target, "[forms.norm]", "", ""}}}},
};

}  // namespace longshore::changes
