#include "optimize/fold.hpp"
#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

/// One axis: output u of the uncropped result is the sum of x[q - t] * w[r + t * stride], where
/// q = u / stride, r = u % stride. Outputs m * stride + phase, m = 0, 1, ..., are a convolution of
/// the input whose taps are the phase's.
struct Axis {
  std::int64_t in = 0, stride = 1, kernel = 1, begin = 0;
  struct Taps {
    std::int64_t low = 0, high = 0;    // offsets from m of the inputs that it reads
    std::int64_t first = 0, last = 0;  // q - m, r
    std::int64_t width() const { return high - low + 1; }
    bool operator==(const Taps&) const = default;
  };
  /// Nothing if a phase reads nothing, or nothing that padding could give.
  std::optional<std::vector<Taps>> phases() const {
    std::vector<Taps> out;
    for (std::int64_t phase = 0; phase < stride; phase++) {
      const std::int64_t q = (phase + begin) / stride, r = (phase + begin) % stride;
      if (r >= kernel) return {};
      const std::int64_t count = (kernel - r + stride - 1) / stride;
      const Taps t{q - count + 1, q, q, r};
      if (t.low > 0) return {};
      out.push_back(t);
    }
    return out;
  }
  /// The kernel's index of a phase's tap.
  std::int64_t tap(const Taps& t, std::int64_t i) const {
    return t.last + (t.high - t.low - i) * stride;
  }
};

/// More would be many small convolutions.
constexpr std::size_t most_phases = 64;

struct Unfolded {
  Axis h, w;
  std::int64_t batch = 0, in = 0, out = 0;  // channels
  std::vector<float> weights, bias;
};

std::optional<Axis> axis(const Match& m, const Node& n, std::size_t i) {
  const auto listed = [&](std::string_view name, std::size_t at, std::int64_t otherwise) {
    const auto list = n.attributes.integers(name);
    return at < list.size() ? list[at] : otherwise;
  };
  const TensorType &x = m.type(n.input(0)), &y = m.type(n.outputs[0]);
  if (listed("dilations", i, 1) != 1 || !x.dims[i + 2].known() || !y.dims[i + 2].known()) return {};
  Axis a{.in = x.dims[i + 2].value,
         .stride = listed("strides", i, 1),
         .kernel = m.constant(n.input(1))->shape[static_cast<int>(i) + 2],
         .begin = listed("pads", i, 0)};
  if (a.in < 1 || a.stride < 1 || a.begin < 0 || y.dims[i + 2].value != a.in * a.stride) return {};
  return a;
}

/// What the node is, if it can be unfolded: a plain image whose every side grows by the stride.
std::optional<Unfolded> unfolded(const Match& m, const Node& n) {
  const TensorType &x = m.type(n.input(0)), &y = m.type(n.outputs[0]);
  const std::string_view pad = n.attributes.text("auto_pad", "NOTSET");
  if (!x.ranked || x.rank() != 4 || x.dtype != DType::f32 || x.quantised() || !y.ranked ||
      y.rank() != 4 || !x.dims[0].known() || n.attributes.integer("group", 1) != 1 ||
      (pad != "NOTSET" && !pad.empty()) || !n.attributes.integers("output_shape").empty())
    return {};
  const std::optional<std::vector<float>> weights = floats(m, n.input(1));
  if (!weights || m.constant(n.input(1))->shape.rank != 4) return {};
  const std::optional<Axis> h = axis(m, n, 0), w = axis(m, n, 1);
  if (!h || !w || h->stride * w->stride == 1) return {};
  const Shape& s = m.constant(n.input(1))->shape;
  Unfolded u{*h, *w, x.dims[0].value, s[0], s[1], *weights, {}};
  u.bias.assign(static_cast<std::size_t>(u.out), 0);
  if (n.input(2) != no_value) {
    const std::optional<std::vector<float>> bias = floats(m, n.input(2));
    if (!bias || bias->size() != u.bias.size()) return {};
    u.bias = *bias;
  }
  return u;
}

/// The convolution that makes rows of phase `row` and, side by side as channels, columns of the
/// phases [from, to), which all read the same inputs.
ValueId add_conv(Match& m, ValueId x, const Unfolded& u, const Axis::Taps& row,
                 const std::vector<Axis::Taps>& columns, std::size_t from, std::size_t to) {
  const Axis::Taps& column = columns[from];
  std::vector<float> weights, bias;
  for (std::size_t j = from; j < to; j++) {
    bias.insert(bias.end(), u.bias.begin(), u.bias.end());
    for (std::int64_t o = 0; o < u.out; o++)
      for (std::int64_t i = 0; i < u.in; i++)
        for (std::int64_t a = 0; a < row.width(); a++)
          for (std::int64_t b = 0; b < column.width(); b++)
            weights.push_back(u.weights[static_cast<std::size_t>(
                ((i * u.out + o) * u.h.kernel + u.h.tap(row, a)) * u.w.kernel +
                u.w.tap(columns[j], b))]);
  }
  const auto channels = static_cast<std::int64_t>(bias.size());
  Attributes attributes;
  attributes.set("pads", Ints{-row.low, -column.low, row.high, column.high});
  return m.add(
      "Conv",
      {x, m.add_constant(make_floats(Shape{channels, u.in, row.width(), column.width()}, weights)),
       m.add_constant(make_floats(Shape{channels}, bias))},
      std::move(attributes));
}

/// `function`: what is done to each element of the result, or null.
std::optional<ValueId> unfold(Match& m, const Node& n, const Node* function) {
  const std::optional<Unfolded> u = unfolded(m, n);
  if (!u) return {};
  const auto rows = u->h.phases(), columns = u->w.phases();
  if (!rows || !columns || rows->size() * columns->size() > most_phases) return {};
  std::vector<ValueId> parts;
  for (const Axis::Taps& row : *rows) {
    std::vector<ValueId> across;
    for (std::size_t from = 0, to = 0; from < columns->size(); from = to) {
      const auto same = [&](const Axis::Taps& t) {
        return t.low == (*columns)[from].low && t.high == (*columns)[from].high;
      };
      while (to < columns->size() && same((*columns)[to])) to++;
      ValueId made = add_conv(m, n.input(0), *u, row, *columns, from, to);
      if (function) {
        std::vector<ValueId> inputs = function->inputs;
        inputs[0] = made;
        made = m.add(function->op->name, std::move(inputs), function->attributes);
      }
      across.push_back(made);
    }
    parts.push_back(concatenated(m, across, 1));
  }
  // Rows of all phases lie side by side, as they follow each other in the result.
  const ValueId side = transposed(m, concatenated(m, parts, 3), {0, 2, 3, 1});
  const std::int64_t h = u->h.in * u->h.stride, w = u->w.in * u->w.stride;
  if (u->out == 1)
    return reshaped(m, side, {u->batch, 1, h, w});  // channels first and last are the same
  return transposed(m, reshaped(m, side, {u->batch, h, w, u->out}), {0, 3, 1, 2});
}

/// A function of each element that reads nothing else but constants.
bool is_function(const Match& m, const Node& n) {
  if (!n.op->form || n.outputs.size() != 1 || n.op->form({n, m.graph()}).form != "table")
    return false;
  for (std::size_t i = 1; i < n.inputs.size(); i++)
    if (n.inputs[i] != no_value && !m.constant(n.inputs[i])) return false;
  return true;
}

/// A function behind goes with it, so that it can be fused with the convolutions.
bool rewrite(Match& m) {
  const Node& n = m.node();
  const Node* before = n.inputs.empty() ? nullptr : m.def(n.inputs[0], "ConvTranspose");
  if (before && m.uses(n.inputs[0]) == 1 && is_function(m, n)) {
    const std::optional<ValueId> made = unfold(m, *before, &n);
    if (made) m.replace(n.outputs[0], *made);
    return made.has_value();
  }
  if (!m.is("ConvTranspose")) return false;
  if (m.uses(n.outputs[0]) == 1)
    for (const Node& user : m.graph().nodes)
      if (!user.inputs.empty() && user.inputs[0] == n.outputs[0] && is_function(m, user))
        return false;
  const std::optional<ValueId> made = unfold(m, n, nullptr);
  if (made) m.replace(n.outputs[0], *made);
  return made.has_value();
}

}  // namespace

extern constinit const Pass pass_unfold_conv_transpose = {
    .stage = Stage::unfold,
    .doc =
        "A ConvTranspose with strides is a convolution for each phase of its rows (and columns), "
        "whose results lie side by side.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,2,3]) { y = ConvTranspose(x, f32[1,2,2,2]{1, 2, 3, 4, 5, 6, 7, 8}, "
          "f32[2]{9, "
          "10}, strides=[2,2]) return y }",
          "(x: f32[1,1,2,3]) { a = Conv(x, f32[4,1,1,1]{1, 5, 2, 6}, f32[4]{9, 10, 9, 10}, "
          "pads=[0,0,0,0]) b = Conv(x, f32[4,1,1,1]{3, 7, 4, 8}, f32[4]{9, 10, 9, 10}, "
          "pads=[0,0,0,0]) c = Concat(a, b, axis=3) t = Transpose(c, perm=[0,2,3,1]) r = "
          "Reshape(t, "
          "i64[4]{1, 4, 6, 2}) y = Transpose(r, perm=[0,3,1,2]) return y }"},
         // Phases of columns that read other inputs are convolutions of their own.
         {"(x: f32[1,1,2,3]) { a = ConvTranspose(x, f32[1,1,1,4]{1, 2, 3, 4}, strides=[1,2], "
          "pads=[0,1,0,1]) y = Relu(a) return y }",
          "(x: f32[1,1,2,3]) { a = Conv(x, f32[1,1,1,2]{4, 2}, f32[1]{0}, pads=[0,1,0,0]) r = "
          "Relu(a) b = Conv(x, f32[1,1,1,2]{3, 1}, f32[1]{0}, pads=[0,0,0,1]) s = Relu(b) c = "
          "Concat(r, s, axis=1) t = Transpose(c, perm=[0,2,3,1]) y = Reshape(t, i64[4]{1, 1, 2, "
          "6}) "
          "return y }"},
         // More phases than are worth it.
         {"(x: f32[1,1,1,1]) { y = ConvTranspose(x, f32[1,1,9,9]{1}, strides=[9,9]) return y }",
          ""},
         // A result that does not grow by the stride alone.
         {"(x: f32[1,1,2,3]) { y = ConvTranspose(x, f32[1,1,3,3]{1}, strides=[2,2]) return y }",
          ""}},
};

}  // namespace longshore::passes
