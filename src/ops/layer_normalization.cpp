#include "ops/norm_codes.hpp"

namespace longshore::ops::op_layer_normalization {
extern const OpDef definition;
namespace {

int axis_of(const Attributes& attributes, int rank) {
  return resolve_axis(attributes.integer("axis", -1), rank);
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  c.output(0, x);
  const DType stash = c.attributes().integer("stash_type", 1) == 16 ? DType::bf16 : DType::f32;
  TensorType mean = TensorType::unranked(stash);
  if (x.ranked) {
    const int axis = axis_of(c.attributes(), x.rank());
    if (axis < 0) c.fail("its axis is out of range for " + print(x));
    mean = TensorType(stash, x.dims);
    for (std::size_t i = static_cast<std::size_t>(axis); i < mean.dims.size(); i++)
      mean.dims[i] = Dim(1);
  }
  c.output(1, mean);
  c.output(2, mean);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &scale = c.input(1), &bias = c.input(2);
  const int axis = axis_of(c.attributes, x.shape.rank);
  if (axis < 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", x.shape.rank);
  Shape inner, outer = x.shape, dims;
  for (int i = axis; i < x.shape.rank; i++) {
    inner.push(x.shape[i]);
    outer[i] = 1;
  }
  // Scale and bias may be broadcast, even along the outer dims.
  if (!broadcast_shape(x.shape, scale.shape, dims) || !(dims == x.shape)) return cannot_broadcast();
  if (bias.present() && (!broadcast_shape(x.shape, bias.shape, dims) || !(dims == x.shape)))
    return cannot_broadcast();
  MutableView y, mean, deviation;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  if (c.wants(1)) LONGSHORE_TRY(c.output(1, outer, mean));
  if (c.wants(2)) LONGSHORE_TRY(c.output(2, outer, deviation));
  const std::int64_t count = inner.elements(), rows = outer.elements();
  const double epsilon = c.attributes.real("epsilon", 1e-5f);
  const Shape strides[2] = {broadcast_strides(scale.shape, x.shape),
                            broadcast_strides(bias.present() ? bias.shape : scale.shape, x.shape)};
  Walk<2> walk(x.shape, strides);
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t r = 0; r < rows && count > 0; r++) {
      const T* from = x.as<T>() + r * count;
      const Moments m = moments(from, count);
      const double factor = 1 / std::sqrt(m.variance + epsilon);
      if (mean.data) store_real(mean, r, m.mean);
      if (deviation.data) store_real(deviation, r, factor);
      for (std::int64_t i = 0; i < count; i++, walk.next()) {
        double value = (static_cast<Compute<T>>(from[i]) - m.mean) * factor *
                       static_cast<Compute<T>>(scale.as<T>()[walk.offset(0)]);
        if (bias.present()) value += static_cast<Compute<T>>(bias.as<T>()[walk.offset(1)]);
        y.as<T>()[r * count + i] = static_cast<T>(value);
      }
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

Status eval_quantised(EvalContext& c) noexcept {
  return eval_norm_quantised(definition, c, true, 2);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LayerNormalization",
    .doc = "The dims from axis on get mean 0 and variance 1, then scale and bias.",
    .since = 17,
    .schema =
        {.inputs = {{"X", type_set::float_types, "T"},
                    {"Scale", type_set::float_types, "T", Presence::required, InputRole::parameter},
                    {"B", type_set::float_types, "T", Presence::optional, InputRole::parameter}},
         .outputs = {{"Y", type_set::float_types, "T"},
                     {"Mean", type_set::float_types, {}, Presence::optional},
                     {"InvStdDev", type_set::float_types, {}, Presence::optional}},
         .attributes = {{"axis"}, {"epsilon", AttributeKind::real}, {"stash_type"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval_quantised,
    .facts = norm_facts,
    .quant = Quant::integer,
    .channels = Channels::normalised,
    .form = [](const NodeTypes& n) { return norm_form(n, "layer", 2); },
    .examples =
        {"(x: f32[2,3,8], s: f32[8], b: f32[8]) { y = LayerNormalization(x, s, b) return y }",
         "(x: i8[2,3,8] q(0.1, 3), s: f32[8], b: f32[8]) { y: i8[2,3,8] q(0.02, 5) = "
         "LayerNormalization(x, s, b) return y }",
         "(x: u8[2,3,4] q(0.1, 3), s: f32[3,4]) { y: i8[2,3,4] q(0.02, 5) = "
         "LayerNormalization(x, s, axis=1) return y }",
         "(x: f16[2,3,4], s: f16[3,4]) { y, m, d = LayerNormalization(x, s, axis=1) return y, m, d "
         "}"},
};

}  // namespace longshore::ops::op_layer_normalization
