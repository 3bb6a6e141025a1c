#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// y = min(max(x, low), high) with constants.
struct Bounds {
  ValueId x;
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
};

/// Relu, Clip, and Min or Max with one constant number, seen as bounds. NaN passes through all of
/// them in the same way.
std::optional<Bounds> bounds(const Match& m, const Node* n) {
  if (!n || n->inputs.empty() || n->output() == no_value ||
      m.type(n->outputs[0]).dtype != DType::f32)
    return {};
  if (Match::is(*n, "Relu")) return Bounds{n->inputs[0], 0};
  if (Match::is(*n, "Clip")) {
    Bounds b{n->inputs[0]};
    if (n->input(1) != no_value) {
      const auto v = m.scalar(n->input(1));
      if (!v) return {};
      b.low = *v;
    }
    if (n->input(2) != no_value) {
      const auto v = m.scalar(n->input(2));
      if (!v) return {};
      b.high = *v;
    }
    return b.low <= b.high ? std::optional(b) : std::nullopt;
  }
  if (n->inputs.size() == 2 && (Match::is(*n, "Min") || Match::is(*n, "Max"))) {
    for (std::size_t i = 0; i < 2; i++) {
      const ValueId x = n->inputs[1 - i];
      const auto v = m.scalar(n->inputs[i], x);
      if (!v || m.constant(x) || !(*v == *v)) continue;
      return Match::is(*n, "Min") ? Bounds{x, -std::numeric_limits<double>::infinity(), *v}
                                  : Bounds{x, *v};
    }
  }
  return {};
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  const std::optional<Bounds> outer = bounds(m, &n);
  if (!outer) return false;
  const std::optional<Bounds> inner = bounds(m, m.graph().def(outer->x));
  Bounds b = *outer;
  if (inner) {
    b.x = inner->x;
    b.low = std::min(std::max(inner->low, outer->low), outer->high);
    b.high = std::max(std::min(inner->high, outer->high), outer->low);
  }
  const bool bare = Match::is(n, "Min") || Match::is(n, "Max");
  if (!inner && !bare) return false;
  if (b.low == 0 && b.high == std::numeric_limits<double>::infinity()) {
    m.replace(n.outputs[0], m.add("Relu", {b.x}));
    return true;
  }
  const auto bound = [&](double v) {
    if (std::abs(v) == std::numeric_limits<double>::infinity()) return no_value;
    const float f = static_cast<float>(v);
    return m.add_constant(make_floats(Shape{}, std::span(&f, 1)));
  };
  const ValueId low = bound(b.low), high = bound(b.high);
  m.replace(n.outputs[0], m.add("Clip", {b.x, low, high}));
  return true;
}

}  // namespace

extern constinit const Pass pass_merge_clips = {
    .doc = "Relu, Clip, and Min or Max with a number, in a row, are one Relu or Clip.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[3]) { a = Relu(x) y = Min(a, f32[]{6}) return y }",
               "(x: f32[3]) { y = Clip(x, f32[]{0}, f32[]{6}) return y }"},
              {"(x: f32[3]) { y = Max(x, f32[]{0}) return y }",
               "(x: f32[3]) { y = Relu(x) return y }"},
              {"(x: f32[3]) { a = Clip(x, f32[]{-1}, f32[]{4}) y = Relu(a) return y }",
               "(x: f32[3]) { y = Clip(x, f32[]{0}, f32[]{4}) return y }"},
              {"(x: f32[3]) { y = Clip(x, f32[]{-1}) return y }", ""},
              {"(x: f32[3]) { y = Max(x, f32[1,1]{0}) return y }", ""},
              {"(x: f32[2,1,4], w: f32[1,12,4], r: f32[1,12,3]) { _, h = LSTM(x, w, r, "
               "hidden_size=3) y = Relu(h) "
               "return y }",
               ""}},
};

}  // namespace longshore::passes
