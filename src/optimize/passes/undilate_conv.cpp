#include "optimize/fold.hpp"
#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

/// Wider gaps than any target here takes: then a copy that cuts the axis evenly is worth it.
constexpr std::int64_t widest_gap = 31;

/// Output u reads inputs u, u + gap, ...: with the axis laid out in rows of `gap`, one column.
bool rewrite(Match& m) {
  const Node& n = m.node();
  if ((!m.is("Conv") && !m.is("com.microsoft.FusedConv")) || n.input(3) != no_value) return false;
  const TensorType &x = m.type(n.input(0)), &y = m.type(n.outputs[0]);
  const std::optional<std::vector<float>> weights = floats(m, n.input(1));
  const std::string_view pad = n.attributes.text("auto_pad", "NOTSET");
  if (!x.ranked || x.rank() != 3 || x.quantised() || !x.dims[2].known() || !weights || !y.ranked ||
      !y.dims[2].known() || (pad != "NOTSET" && !pad.empty()))
    return false;
  const auto listed = [&](std::string_view name, std::size_t at, std::int64_t otherwise) {
    const auto list = n.attributes.integers(name);
    return at < list.size() ? list[at] : otherwise;
  };
  const Shape shape = m.constant(n.input(1))->shape;
  const std::int64_t gap = listed("dilations", 0, 1), kernel = shape[2], width = x.dims[2].value,
                     begin = listed("pads", 0, 0), end = listed("pads", 1, 0);
  if (gap < 2 || kernel < 2 || listed("strides", 0, 1) != 1 || begin < 0 || end < 0 || width < 1)
    return false;
  const bool even = width % gap == 0 && begin % gap == 0 && end % gap == 0;
  if (!even && gap <= widest_gap) return false;

  const std::int64_t rows = even ? width / gap : (begin + width + end + gap - 1) / gap;
  ValueId from = n.input(0);
  if (!even)
    from = m.add("Pad", {from, add_integers(m, {0, 0, begin, 0, 0, rows * gap - begin - width})});
  Node conv = n;
  conv.inputs[0] = reshaped(m, from, {0, 0, rows, gap});
  conv.inputs[1] = m.add_constant(make_floats(Shape{shape[0], shape[1], kernel, 1}, *weights));
  const std::int64_t above = even ? begin / gap : 0, below = even ? end / gap : 0;
  conv.attributes.set("pads", Ints{above, 0, below, 0});
  for (std::string_view name : {"dilations", "strides", "kernel_shape"})
    conv.attributes.erase(name);
  conv.outputs.clear();
  const ValueId cut = m.add_node(std::move(conv));
  ValueId made = reshaped(m, cut, {0, 0, (rows + above + below - kernel + 1) * gap});
  if (!even) made = sliced(m, made, 2, 0, y.dims[2].value);
  m.replace(n.outputs[0], made);
  return true;
}

}  // namespace

extern constinit const Pass pass_undilate_conv = {
    .stage = Stage::unfold,
    .doc =
        "A dilated convolution along one axis is one without gaps along the columns of that axis "
        "laid out in rows: views where the rows come out even, copies for gaps above 31.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,8]) { y = Conv(x, f32[1,1,3]{1, 2, 3}, dilations=[4], pads=[4,4]) return y "
          "}",
          "(x: f32[1,1,8]) { a = Reshape(x, i64[4]{0, 0, 2, 4}) b = Conv(a, f32[1,1,3,1]{1, 2, 3}, "
          "pads=[1,0,1,0]) y = Reshape(b, i64[3]{0, 0, 8}) return y }"},
         {"(x: f32[1,1,70]) { y = Conv(x, f32[1,1,2]{1, 2}, dilations=[32], pads=[1,0]) return y }",
          "(x: f32[1,1,70]) { p = Pad(x, i64[6]{0, 0, 1, 0, 0, 25}) a = Reshape(p, i64[4]{0, 0, 3, "
          "32}) b = Conv(a, f32[1,1,2,1]{1, 2}, pads=[0,0,0,0]) c = Reshape(b, i64[3]{0, 0, 64}) y "
          "= Slice(c, i64[1]{0}, i64[1]{39}, i64[1]{2}) return y }"},
         {"(x: f32[1,1,70]) { y = Conv(x, f32[1,1,2]{1, 2}, dilations=[4]) return y }", ""},
         {"(x: f32[1,1,8]) { y = Conv(x, f32[1,1,2]{1, 2}, dilations=[4], strides=[2]) return y }",
          ""}},
};

}  // namespace longshore::passes
