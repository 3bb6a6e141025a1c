#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Gather")) return false;
  const Node* shape = m.def(n.inputs[0], "Shape");
  const Tensor* at = m.constant(n.input(1));
  if (!shape || !at || shape->attributes.size() != 0 || !m.type(shape->inputs[0]).ranked)
    return false;
  const Dims& dims = m.type(shape->inputs[0]).dims;
  Ints positions;
  if (at->dtype == DType::i64)
    for (std::int64_t i : at->values<std::int64_t>()) positions.push_back(i);
  else if (at->dtype == DType::i32)
    for (std::int32_t i : at->values<std::int32_t>()) positions.push_back(i);
  else
    return false;
  Ints out;
  for (std::int64_t i : positions) {
    const int axis = resolve_axis(i, static_cast<int>(dims.size()));
    if (axis < 0 || !dims[static_cast<std::size_t>(axis)].known()) return false;
    out.push_back(dims[static_cast<std::size_t>(axis)].value);
  }
  const Shape result = at->shape;
  m.replace(n.outputs[0], m.add_constant(make_tensor<std::int64_t>(DType::i64, result, out)));
  return true;
}

}  // namespace

extern constinit const Pass pass_gather_dims = {
    .doc = "Gather of known dims from the Shape of a value whose other dims are not known.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[N,3,4]) { s = Shape(x) a = Gather(s, i64[]{1}) y = Add(a, i64[1]{1}) z = "
               "Relu(x) return y, z }",
               "(x: f32[N,3,4]) { y = Add(i64[]{3}, i64[1]{1}) z = Relu(x) return y, z }"},
              {"(x: f32[N,3]) { s = Shape(x) y = Gather(s, i64[]{0}) return y }", ""}},
};

}  // namespace longshore::passes
