#include <algorithm>

#include "ir/op.hpp"

namespace longshore::ops::op_shape {
namespace {

/// [start, end) clamped to [0, rank]; negative numbers count from the end.
void range(const Attributes& attributes, int rank, int& from, int& to) {
  const auto clamp = [&](std::int64_t i) {
    if (i < 0) i += rank;
    return static_cast<int>(std::clamp<std::int64_t>(i, 0, rank));
  };
  from = clamp(attributes.integer("start", 0));
  to = std::max(from, clamp(attributes.has("end") ? attributes.integer("end") : rank));
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  if (!x.ranked) {
    c.output(0, TensorType(DType::i64, Dims(1)));
    return;
  }
  int from = 0, to = 0;
  range(c.attributes(), x.rank(), from, to);
  c.output(0, TensorType(DType::i64, Shape{to - from}));
  Ints dims;
  for (int i = from; i < to; i++) {
    const Dim& d = x.dims[static_cast<std::size_t>(i)];
    if (!d.known()) return;
    dims.push_back(d.value);
  }
  c.value(0, make_ints(dims));
}

Status eval(EvalContext& c) noexcept {
  const Shape& shape = c.input(0).shape;
  int from = 0, to = 0;
  range(c.attributes, shape.rank, from, to);
  MutableView y;
  LONGSHORE_TRY(c.output(0, Shape{to - from}, y));
  std::copy(shape.begin() + from, shape.begin() + to, y.as<std::int64_t>());
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Shape",
    .doc = "The dims of x from start to end, as a vector.",
    .since = 15,
    .schema = {.inputs = {{"data"}},
               .outputs = {{"shape", type_set::int64}},
               .attributes = {{"start"}, {"end"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[2,3,N]) { y = Shape(x, start=-2) return y }"},
};

}  // namespace longshore::ops::op_shape
