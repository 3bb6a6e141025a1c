#include <algorithm>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// ReduceMean over all spatial axes of NCHW?
bool reduces_image(const Match& m, bool& keep) {
  const Node& n = m.node();
  if (!m.is("ReduceMean")) return false;
  const Tensor* axes = m.constant(n.input(1));
  const int rank = m.type(n.inputs[0]).rank();
  if (!axes || axes->dtype != DType::i64 || rank < 3) return false;
  std::vector<bool> reduced(static_cast<std::size_t>(rank));
  for (std::int64_t a : axes->values<std::int64_t>()) {
    const int axis = resolve_axis(a, rank);
    if (axis >= 0) reduced[static_cast<std::size_t>(axis)] = true;
  }
  for (int i = 0; i < rank; i++)
    if (reduced[static_cast<std::size_t>(i)] != (i >= 2)) return false;
  keep = n.attributes.integer("keepdims", 1) != 0;
  return true;
}

/// AveragePool or MaxPool whose one window is the whole image?
bool covers_image(const Match& m) {
  const Node& n = m.node();
  if (!m.is("AveragePool") && !m.is("MaxPool")) return false;
  if (n.output(1) != no_value) return false;
  const std::optional<Shape> shape = m.type(n.inputs[0]).shape();
  const auto kernel = n.attributes.integers("kernel_shape"), pads = n.attributes.integers("pads");
  if (!shape || static_cast<int>(kernel.size()) != shape->rank - 2) return false;
  for (std::size_t i = 0; i < kernel.size(); i++)
    if (kernel[i] != (*shape)[static_cast<int>(i) + 2]) return false;
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; })) return false;
  for (std::int64_t d : n.attributes.integers("dilations"))
    if (d != 1) return false;
  const std::string_view automatic = n.attributes.text("auto_pad", "NOTSET");
  return automatic == "NOTSET" || automatic == "VALID";
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (n.inputs.empty() || m.type(n.inputs[0]).dtype != DType::f32) return false;
  bool keep = true;
  if (reduces_image(m, keep)) {
    ValueId y = m.add("GlobalAveragePool", {n.inputs[0]});
    if (!keep) y = m.add("Flatten", {y});
    if (!keep && m.type(n.outputs[0]).rank() != 2) return false;
    m.replace(n.outputs[0], y);
    return true;
  }
  if (!covers_image(m)) return false;
  m.replace(n.outputs[0],
            m.add(m.is("MaxPool") ? "GlobalMaxPool" : "GlobalAveragePool", {n.inputs[0]}));
  return true;
}

}  // namespace

extern constinit const Pass pass_pool_whole_image = {
    .doc = "A mean or pooling over the whole image is a global pooling.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[1,2,3,4]) { y = ReduceMean(x, i64[2]{-1, 2}) return y }",
               "(x: f32[1,2,3,4]) { y = GlobalAveragePool(x) return y }"},
              {"(x: f32[1,2,3,4]) { y = ReduceMean(x, i64[2]{2, 3}, keepdims=0) return y }",
               "(x: f32[1,2,3,4]) { a = GlobalAveragePool(x) y = Flatten(a) return y }"},
              // Of no pixels both are NaN.
              {"(x: f32[1,2,0,4]) { y = ReduceMean(x, i64[2]{2, 3}) return y }",
               "(x: f32[1,2,0,4]) { y = GlobalAveragePool(x) return y }"},
              {"(x: f32[1,2,3,4]) { y = AveragePool(x, kernel_shape=[3, 4]) return y }",
               "(x: f32[1,2,3,4]) { y = GlobalAveragePool(x) return y }"},
              {"(x: f32[1,2,3,4]) { y = AveragePool(x, kernel_shape=[3, 3]) return y }", ""}},
};

}  // namespace longshore::passes
