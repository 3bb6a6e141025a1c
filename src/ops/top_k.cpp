#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops::op_top_k {
namespace {

/// k was an attribute before opset 10.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset < 10) attribute_to_input(n, "k", 1, r);
}

void infer(InferContext& c) {
  TensorType y = c.input(0);
  if (y.ranked) {
    const int axis = resolve_axis(c.attributes().integer("axis", -1), y.rank());
    if (axis < 0) c.fail("its axis is out of range for " + print(y));
    const std::optional<Ints> k = c.integers(1);
    Dim& d = y.dims[static_cast<std::size_t>(axis)];
    if (k && k->size() == 1 && d.known() && ((*k)[0] < 0 || (*k)[0] > d.value))
      c.fail("k = " + std::to_string((*k)[0]) + " of " + std::to_string(d.value) + " elements");
    d = k && k->size() == 1 ? Dim((*k)[0]) : Dim();
  }
  c.output(0, y);
  y.dtype = DType::i64;
  c.output(1, y);
}

/// The indices of one line.
std::size_t scratch(const ScratchContext& c) noexcept {
  const Shape& dims = c.inputs[0].shape;
  const int axis = resolve_axis(c.attributes.integer("axis", -1), dims.rank);
  return axis < 0 ? 0 : static_cast<std::size_t>(dims[axis]) * sizeof(std::int64_t);
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const int axis = resolve_axis(c.attributes.integer("axis", -1), x.shape.rank);
  if (axis < 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", x.shape.rank);
  const std::int64_t count = x.shape[axis],
                     k = c.input(1).elements() == 1 ? load_integer(c.input(1), 0) : -1;
  if (k < 0 || k > count)
    return Status::error(Code::bad_argument, "k = %lld of %lld elements", static_cast<long long>(k),
                         static_cast<long long>(count));
  const bool largest = c.attributes.integer("largest", 1) != 0;
  Shape dims = x.shape;
  dims[axis] = k;
  MutableView values, indices;
  if (c.wants(0)) LONGSHORE_TRY(c.output(0, dims, values));
  if (c.wants(1)) LONGSHORE_TRY(c.output(1, dims, indices));
  const std::int64_t outer = x.shape.product(0, axis),
                     inner = x.shape.product(axis + 1, x.shape.rank);
  auto* order = reinterpret_cast<std::int64_t*>(c.scratch.data());
  const bool known = visit_type(NumberTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t o = 0; o < outer && k > 0; o++)
      for (std::int64_t i = 0; i < inner; i++) {
        const T* from = x.as<T>() + o * count * inner + i;
        const auto value = [&](std::int64_t j) { return static_cast<Compute<T>>(from[j * inner]); };
        for (std::int64_t j = 0; j < count; j++) order[j] = j;
        std::partial_sort(order, order + k, order + count, [&](std::int64_t p, std::int64_t q) {
          const auto a = value(p), b = value(q);
          const bool nan_a = a != a, nan_b = b != b;
          if (nan_a != nan_b) return nan_a;  // NaN comes first, of the largest and of the smallest
          if (nan_a || a == b) return p < q;
          return largest ? b < a : a < b;
        });
        for (std::int64_t j = 0; j < k; j++) {
          const std::int64_t to = (o * k + j) * inner + i;
          if (values.data) values.as<T>()[to] = from[order[j] * inner];
          if (indices.data) indices.as<std::int64_t>()[to] = order[j];
        }
      }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "TopK",
    .doc =
        "The k largest (or smallest) along the axis in order, and where they were; of equal ones "
        "the "
        "first. NaN comes before every number.",
    .since = 24,
    .schema = {.inputs = {{"X", type_set::numbers, "T"}, {"K", type_set::int64}},
               .outputs = {{"Values", type_set::numbers, "T"}, {"Indices", type_set::int64}},
               .attributes = {{"axis"}, {"largest"}, {"sorted"}}},
    .normalise = normalise,
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5]) { v, i = TopK(x, i64[1]{3}) return v, i }",
                 "(x: u8[4,3]) { v, i = TopK(x, i64[1]{2}, axis=0, largest=0) return v, i }",
                 "(x: f32[2,5], n: i64[1]) { k = Clip(n, i64[]{0}, i64[]{5}) v, i = TopK(x, k) "
                 "return v, i }"},
};

}  // namespace longshore::ops::op_top_k
