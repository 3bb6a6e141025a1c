#include "optimize/fold.hpp"
#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("ConvTranspose")) return false;
  const TensorType &x = m.type(n.input(0)), &y = m.type(n.outputs[0]);
  const std::optional<std::vector<float>> weights = floats(m, n.input(1));
  if (!weights || !x.ranked || x.rank() != 3 || x.quantised() || !x.dims[2].known() || !y.ranked ||
      !y.dims[2].known())
    return false;
  const Shape shape = m.constant(n.input(1))->shape;
  Node wide = n;
  wide.inputs[0] = reshaped(m, n.input(0), {0, 0, 1, x.dims[2].value});
  wide.inputs[1] = m.add_constant(make_floats(Shape{shape[0], shape[1], 1, shape[2]}, *weights));
  // A row of one: its own number before that of the columns.
  const auto widen = [&](std::string_view name, std::int64_t row) {
    const auto list = n.attributes.integers(name);
    if (list.empty()) return;
    Ints out;
    for (std::int64_t each : list) {
      out.push_back(row);
      out.push_back(each);
    }
    wide.attributes.set(name, out);
  };
  widen("strides", 1);
  widen("dilations", 1);
  widen("kernel_shape", 1);
  widen("output_padding", 0);
  widen("output_shape", 1);
  if (const auto pads = n.attributes.integers("pads"); !pads.empty())
    wide.attributes.set("pads", Ints{0, pads[0], 0, pads[1]});
  wide.outputs.clear();
  m.replace(n.outputs[0], reshaped(m, m.add_node(std::move(wide)), {0, 0, y.dims[2].value}));
  return true;
}

}  // namespace

extern constinit const Pass pass_conv_transpose_1d = {
    .stage = Stage::unfold,
    .doc = "A ConvTranspose along one axis is one of an image of one row, which unfolds.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,3]) { y = ConvTranspose(x, f32[1,2,2]{1, 2, 3, 4}, strides=[2], pads=[0,0]) "
          "return y }",
          "(x: f32[1,1,3]) { a = Reshape(x, i64[4]{0, 0, 1, 3}) b = ConvTranspose(a, "
          "f32[1,2,1,2]{1, 2, 3, 4}, strides=[1,2], pads=[0,0,0,0]) y = Reshape(b, i64[3]{0, 0, "
          "6}) return y }"},
         {"(x: f32[1,1,3], w: f32[1,2,2]) { y = ConvTranspose(x, w, strides=[2]) return y }", ""}},
};

}  // namespace longshore::passes
