#include "change/change.hpp"
#include "optimize/fold.hpp"
#include "optimize/passes/rearrange.hpp"
#include "tensor/window.hpp"

namespace longshore::changes {
namespace {

/// One axis of the convolution, whose `factor` neighbours become channels.
struct Axis {
  std::int64_t in = 1, kernel = 1, stride = 1, begin = 0, out = 1, factor = 1;

  std::int64_t blocks_wide() const { return ceil_div(kernel, factor); }
  /// Elements that the outputs look at, from `begin` before the first: whole blocks.
  std::int64_t length() const { return (out - 1) * stride + blocks_wide() * factor; }
};

/// Whether blocks of `factor` bring an axis under its limits.
bool allowed(const Axis& a, std::int64_t factor, std::optional<std::int64_t> stride,
             std::optional<std::int64_t> kernel) {
  return a.stride % factor == 0 && a.stride / factor <= stride.value_or(a.stride) &&
         ceil_div(a.kernel, factor) <= kernel.value_or(a.kernel);
}

/// Blocks as small as can be: more channels are more bytes to move apart.
std::optional<std::int64_t> smallest(const std::vector<Axis>& axes, const Obstacles& o) {
  const bool image = axes.size() == 2;
  for (std::int64_t f = 2; f <= axes.back().stride; f++) {
    const bool columns = allowed(axes.back(), f, o.limit("stride_w"), o.limit("kernel_w")),
               rows = !image || allowed(axes.front(), f, o.limit("stride_h"), o.limit("kernel_h"));
    if (columns && rows) return f;
  }
  return {};
}

/// The input with zeros before it and after it, or without its end, as long as the outputs look.
ValueId fitted(Match& m, ValueId x, const std::vector<Axis>& axes) {
  Ints ends, spatial, pads(4 + 2 * axes.size());
  bool cut = false, padded = false;
  for (std::size_t i = 0; i < axes.size(); i++) {
    const std::int64_t keep = std::min(axes[i].in, axes[i].length() - axes[i].begin);
    ends.push_back(keep), spatial.push_back(static_cast<std::int64_t>(i) + 2);
    cut = cut || keep < axes[i].in;
    pads[2 + i] = axes[i].begin;
    pads[4 + axes.size() + i] = axes[i].length() - axes[i].begin - keep;
    padded = padded || pads[2 + i] + pads[4 + axes.size() + i] > 0;
  }
  if (cut)
    x = m.add("Slice", {x, passes::add_integers(m, Ints(axes.size(), 0)),
                        passes::add_integers(m, ends), passes::add_integers(m, spatial)});
  return padded ? m.add("Pad", {x, passes::add_integers(m, pads)}) : x;
}

/// Neighbours become channels, the place in the block outermost. Blocks of an image as SpaceToDepth
/// has them, in steps of four axes each: no strides over four describe the whole.
ValueId blocks(Match& m, ValueId x, const std::vector<Axis>& axes, std::int64_t batch,
               std::int64_t channels, std::int64_t factor) {
  if (axes.size() == 2) {
    const std::int64_t rows = axes[0].length() / factor, columns = axes[1].length() / factor;
    x = passes::reshaped(m, passes::transposed(m, x, {0, 2, 3, 1}),
                         {batch * rows, factor, columns, factor * channels});
    x = passes::reshaped(m, passes::transposed(m, x, {0, 2, 1, 3}),
                         {batch, rows, columns, factor * factor * channels});
    return passes::transposed(m, x, {0, 3, 1, 2});
  }
  const std::int64_t count = axes[0].length() / factor;
  x = passes::transposed(m, passes::reshaped(m, x, {batch, channels, count, factor}), {0, 3, 1, 2});
  return passes::reshaped(m, x, {batch, factor * channels, count});
}

/// Weights [out][block row][block column][channel][row][column]; taps beyond the kernel are 0.
std::vector<float> regrouped(const std::vector<float>& w, std::int64_t out, std::int64_t channels,
                             const std::vector<Axis>& axes, std::int64_t factor) {
  const Axis none;
  const Axis &rows = axes.size() == 2 ? axes[0] : none, &columns = axes.back();
  const std::int64_t row_factor = axes.size() == 2 ? factor : 1;
  std::vector<float> to;
  to.reserve(static_cast<std::size_t>(out * channels * factor * row_factor * rows.blocks_wide() *
                                      columns.blocks_wide()));
  const std::int64_t high = axes.size() == 2 ? rows.blocks_wide() : 1;
  for (std::int64_t o = 0; o < out; o++)
    for (std::int64_t a = 0; a < row_factor; a++)
      for (std::int64_t b = 0; b < factor; b++)
        for (std::int64_t c = 0; c < channels; c++)
          for (std::int64_t p = 0; p < high; p++)
            for (std::int64_t q = 0; q < columns.blocks_wide(); q++) {
              const std::int64_t y = p * row_factor + a, x = q * factor + b;
              const bool inside = y < rows.kernel && x < columns.kernel;
              to.push_back(inside
                               ? w[static_cast<std::size_t>(
                                     ((o * channels + c) * rows.kernel + y) * columns.kernel + x)]
                               : 0);
            }
  return to;
}

bool rewrite(Match& m, const Obstacles& obstacles) {
  const Node n = m.node();
  const std::optional<Shape> x = m.type(n.input(0)).shape();
  const std::optional<std::vector<float>> weights = passes::floats(m, n.input(1));
  if (!x || !weights || n.input(3) != no_value || x->rank < 3 || x->rank > 4 ||
      m.type(n.input(0)).dtype != DType::f32)
    return false;
  const Shape w = m.constant(n.input(1))->shape;
  ConvShape conv;
  if (w.rank != x->rank || !conv_shape(n.attributes, *x, w, conv).ok() || conv.groups != 1)
    return false;
  const int spatial = x->rank - 2;
  std::vector<Axis> axes;
  for (int i = 3 - spatial; i < 3; i++) {
    const Window& v = conv.window;
    if (v.dilation[i] != 1) return false;
    axes.push_back({v.in[i], v.kernel[i], v.stride[i], v.begin[i], v.out[i]});
  }
  const std::optional<std::int64_t> factor = smallest(axes, obstacles);
  if (!factor) return false;
  for (Axis& a : axes) a.factor = *factor;

  Attributes attributes = n.attributes;
  for (const char* gone : {"pads", "auto_pad", "kernel_shape", "strides"}) attributes.erase(gone);
  Ints kept;
  Shape shape{w[0], *factor * w[1] * (spatial == 2 ? *factor : 1)};
  for (const Axis& a : axes) kept.push_back(a.stride / *factor), shape.push(a.blocks_wide());
  attributes.set("strides", kept);
  const std::int64_t channels = w[1];
  const ValueId in = blocks(m, fitted(m, n.input(0), axes), axes, (*x)[0], channels, *factor);
  std::vector<ValueId> inputs = {
      in, m.add_constant(make_floats(shape, regrouped(*weights, w[0], channels, axes, *factor)))};
  if (n.input(2) != no_value) inputs.push_back(n.input(2));
  m.replace(n.outputs[0], m.add(qualified_name(*n.op), std::move(inputs), std::move(attributes)));
  return true;
}

bool removes(const Wanted& w) {
  return w.kind == Wanted::Kind::fact && (w.what == "stride_h" || w.what == "stride_w" ||
                                          w.what == "kernel_h" || w.what == "kernel_w");
}

}  // namespace

extern constinit const ChangeDef change_large_stride = {
    .doc =
        "Neighbouring pixels become channels, so that the convolution's stride and kernel shrink",
    .operators = {"Conv", "com.microsoft.FusedConv"},
    .removes = removes,
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,4,4]) { y = Conv(x, f32[1,1,4,4]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
          "12, 13, 14, 15}, strides=[4,4]) return y }",
          "(x: f32[1,1,4,4]) { a = Transpose(x, perm=[0,2,3,1]) b = Reshape(a, i64[4]{2, 2, 2, 2}) "
          "c = Transpose(b, perm=[0,2,1,3]) d = Reshape(c, i64[4]{1, 2, 2, 4}) e = "
          "Transpose(d, perm=[0,3,1,2]) y = Conv(e, f32[1,4,2,2]{0, "
          "2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}, strides=[2,2]) return y }",
          {{Wanted::Kind::fact, "stride_h", "4", "3"},
           {Wanted::Kind::fact, "stride_w", "4", "3"}}}},
};

}  // namespace longshore::changes
