#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// Reshapes and the like whose output surely has the dims of the input.
bool keeps_dims(const Match& m) {
  const TensorType &in = m.type(m.node().inputs[0]), &out = m.type(m.node().outputs[0]);
  if (!in.ranked || !out.ranked || in.rank() != out.rank()) return false;
  int unsure = 0;
  for (int i = 0; i < in.rank(); i++)
    if (!in.dims[static_cast<std::size_t>(i)].same(out.dims[static_cast<std::size_t>(i)])) unsure++;
  return unsure == 0;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (n.inputs.empty() || n.input(0) == no_value) return false;
  const TensorType &in = m.type(n.inputs[0]), &out = m.type(n.outputs[0]);
  bool nothing = m.is("Identity");
  if (m.is("Dropout")) nothing = n.output(1) == no_value;
  if (m.is("Cast") || m.is("CastLike"))
    nothing = in.dtype == out.dtype && in.dtype != DType::undefined;
  if (m.is("Reshape") || m.is("Flatten") || m.is("Expand") || m.is("Tile") || m.is("Slice") ||
      m.is("Squeeze") || m.is("Unsqueeze"))
    nothing = keeps_dims(m) && (!m.is("Slice") || in.shape().has_value());
  if (m.is("Slice") && nothing && n.input(4) != no_value) nothing = false;  // a step may reverse
  if (m.is("Concat")) nothing = n.inputs.size() == 1;
  if (m.is("Sum") || m.is("Max") || m.is("Min") || m.is("Mean")) nothing = n.inputs.size() == 1;
  if (!nothing || !(in.quant == out.quant)) return false;
  m.replace(n.outputs[0], n.inputs[0]);
  return true;
}

}  // namespace

extern constinit const Pass pass_eliminate_identity = {
    .doc = "Identity, Dropout, and Cast, Reshape, Slice ... that change nothing.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3]) { a = Identity(x) b = Cast(a, to=1) c = Reshape(b, i64[2]{2, 3}) y = "
               "Relu(c) return y }",
               "(x: f32[2,3]) { y = Relu(x) return y }"},
              // An output keeps its name, which an input cannot take over.
              {"(x: f32[2]) { y = Identity(x) return y }", ""},
              {"(x: f32[2]) { a = Relu(x) y = Identity(a) return y }",
               "(x: f32[2]) { y = Relu(x) return y }"},
              {"(x: f32[4]) { y = Slice(x, i64[1]{-1}, i64[1]{-9223372036854775807}, i64[1]{0}, "
               "i64[1]{-1}) z = Relu(y) return z }",
               ""}},
};

}  // namespace longshore::passes
