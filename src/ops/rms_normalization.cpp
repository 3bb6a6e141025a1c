#include "ops/norm_codes.hpp"

namespace longshore::ops::op_rms_normalization {
extern const OpDef definition;
namespace {

void infer(InferContext& c) {
  TensorType y = c.input(0);
  if (y.ranked && resolve_axis(c.attributes().integer("axis", -1), y.rank()) < 0)
    c.fail("its axis is out of range for " + print(y));
  y.dtype = c.input(1).dtype;
  c.output(0, y);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &scale = c.input(1);
  const int axis = resolve_axis(c.attributes.integer("axis", -1), x.shape.rank);
  if (axis < 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", x.shape.rank);
  Shape dims;
  if (!broadcast_shape(x.shape, scale.shape, dims) || !(dims == x.shape)) return cannot_broadcast();
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const std::int64_t count = x.shape.product(axis, x.shape.rank), rows = x.shape.product(0, axis);
  const double epsilon = c.attributes.real("epsilon", 1e-5f);
  const Shape strides[1] = {broadcast_strides(scale.shape, x.shape)};
  Walk<1> walk(x.shape, strides);
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t r = 0; r < rows && count > 0; r++) {
      const T* from = x.as<T>() + r * count;
      double square = 0;
      for (std::int64_t i = 0; i < count; i++) {
        const double value = static_cast<Compute<T>>(from[i]);
        square += value * value;
      }
      const double factor = 1 / std::sqrt(square / static_cast<double>(count) + epsilon);
      for (std::int64_t i = 0; i < count; i++, walk.next())
        store_real(y, r * count + i,
                   static_cast<Compute<T>>(from[i]) * factor * load_real(scale, walk.offset(0)));
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

Status eval_quantised(EvalContext& c) noexcept {
  return eval_norm_quantised(definition, c, false, -1);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "RMSNormalization",
    .doc = "x over the root of the mean of its squares from axis on, times scale.",
    .since = 23,
    .came = 23,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"scale", type_set::float_types, "V", Presence::required,
                           InputRole::parameter}},
               .outputs = {{"Y", type_set::float_types, "V"}},
               .attributes = {{"axis"}, {"epsilon", AttributeKind::real}, {"stash_type"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval_quantised,
    .facts = norm_facts,
    .quant = Quant::integer,
    .form = [](const NodeTypes& n) { return norm_form(n, "rms", -1); },
    .examples = {"(x: f32[2,3,8], s: f32[8]) { y = RMSNormalization(x, s) return y }",
                 "(x: i8[2,3,8] q(0.1, 3), s: f32[8]) { y: i8[2,3,8] q(0.02, 5) = "
                 "RMSNormalization(x, s) return y }",
                 "(x: f16[2,3,4], s: f32[3,4]) { y = RMSNormalization(x, s, axis=1, epsilon=0.001) "
                 "return y }"},
};

}  // namespace longshore::ops::op_rms_normalization
