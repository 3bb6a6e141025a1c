#include "ir/pass.hpp"
#include "tensor/dtype.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Pow")) return false;
  const TensorType& x = m.type(n.inputs[0]);
  if (!type_set::float_types.has(x.dtype) || x.quantised() ||
      m.scalar(n.inputs[1], n.inputs[0]) != 2.0)
    return false;
  m.replace(n.outputs[0], m.add("Mul", {n.inputs[0], n.inputs[0]}));
  return true;
}

}  // namespace

extern constinit const Pass pass_square_to_product = {
    .doc = "Pow with an exponent of 2 is the product of the base with itself, which NPUs have.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3]) { y = Pow(x, f32[]{2}) return y }",
               "(x: f32[2,3]) { y = Mul(x, x) return y }"},
              {"(x: f32[2,3]) { y = Pow(x, i64[1]{2}) return y }",
               "(x: f32[2,3]) { y = Mul(x, x) return y }"},
              {"(x: f32[2,3]) { y = Pow(x, f32[]{3}) return y }", ""},
              // The exponent gives the result an axis.
              {"(x: f32[2,3]) { y = Pow(x, f32[1,1,1]{2}) return y }", ""}},
};

}  // namespace longshore::passes
