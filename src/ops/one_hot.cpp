#include <cmath>

#include "ops/movement.hpp"

namespace longshore::ops::op_one_hot {
namespace {

/// A scalar (or one element) of any number type as an integer; floats are truncated.
bool whole(const TensorView& t, std::int64_t i, std::int64_t& out) {
  bool ok = true;
  const bool known = visit_type(NumberTypes{}, t.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      out = static_cast<std::int64_t>(t.as<T>()[i]);
    } else {
      const auto value = static_cast<double>(t.as<T>()[i]);
      ok = std::fabs(value) < 9e18;
      out = ok ? static_cast<std::int64_t>(value) : 0;
    }
  });
  return known && ok;
}

void infer(InferContext& c) {
  const TensorType indices = c.input(0), values = c.input(2);
  if (!indices.ranked) {
    c.output(0, TensorType::unranked(values.dtype));
    return;
  }
  const int axis = resolve_axis(c.attributes().integer("axis", -1), indices.rank() + 1);
  if (axis < 0 || indices.rank() >= max_rank)
    c.fail("its axis is out of range for rank " + std::to_string(indices.rank() + 1));
  Dims out = indices.dims;
  Dim depth;
  std::int64_t d = 0;
  if (const Tensor* t = c.constant(1); t && t->elements() == 1) {
    if (!whole(t->view(), 0, d) || d < 0) c.fail("its depth is negative or no number");
    depth = Dim(d);
  }
  out.insert(out.begin() + axis, depth);
  c.output(0, {values.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView &indices = c.input(0), &values = c.input(2);
  std::int64_t depth = 0;
  if (c.input(1).elements() != 1 || !whole(c.input(1), 0, depth) || depth < 0)
    return Status::error(Code::bad_argument, "the depth must be one number >= 0");
  if (values.elements() != 2) return Status::error(Code::bad_argument, "values must be [off, on]");
  const int axis = resolve_axis(c.attributes.integer("axis", -1), indices.shape.rank + 1);
  if (axis < 0 || indices.shape.rank >= max_rank)
    return axis_out_of_range(c.attributes.integer("axis", -1), indices.shape.rank + 1);
  Shape dims;
  for (int i = 0; i <= indices.shape.rank; i++)
    dims.push(i == axis ? depth : indices.shape[i < axis ? i : i - 1]);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::size_t size = size_bytes(y.dtype);
  const std::int64_t outer = indices.shape.product(0, axis),
                     inner = indices.shape.product(axis, indices.shape.rank);
  for (std::int64_t i = 0, n = y.elements(); i < n; i++)
    copy_element(y.data, i, values.data, 0, size);
  for (std::int64_t o = 0; o < outer; o++)
    for (std::int64_t i = 0; i < inner; i++) {
      std::int64_t k = 0;
      if (!whole(indices, o * inner + i, k) || k < -depth || k >= depth) continue;  // all off
      if (k < 0) k += depth;
      copy_element(y.data, (o * depth + k) * inner + i, values.data, 1, size);
    }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "OneHot",
    .doc =
        "Each index becomes a vector of `off` with one `on`; indices beyond the depth become all "
        "off.",
    .since = 11,
    .schema = {.inputs = {{"indices", type_set::numbers},
                          {"depth", type_set::numbers},
                          {"values", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"axis"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(i: i64[2,2]) { y = OneHot(i, i64[]{5}, f32[2]{0.0, 1.0}, axis=1) return y }",
                 "(i: f32[3]) { y = OneHot(i, f32[1]{4.0}, i32[2]{7, 9}) return y }"},
};

}  // namespace longshore::ops::op_one_hot
