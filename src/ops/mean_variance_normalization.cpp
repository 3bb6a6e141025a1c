#include "ops/reduce.hpp"

namespace longshore::ops::op_mean_variance_normalization {
namespace {

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  static constexpr std::int64_t usual[] = {0, 2, 3};
  const std::span<const std::int64_t> given = c.attributes.integers("axes");
  Reduction r;
  for (std::int64_t a : c.attributes.has("axes") ? given : std::span<const std::int64_t>(usual)) {
    const int axis = resolve_axis(a, x.shape.rank);
    if (axis < 0)
      return Status::error(Code::bad_argument, "an axis is out of range for rank %d", x.shape.rank);
    r.reduced[axis] = true;
  }
  plan_reduction(x.shape, true, r);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  if (y.elements() == 0) return {};
  const Shape outer_strides[1] = {r.kept_strides}, inner_strides[1] = {r.summed_strides};
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    Walk<1> outer(r.kept, outer_strides);
    for (std::int64_t k = r.kept.elements(); k-- > 0; outer.next()) {
      const auto each = [&](auto&& f) {
        Walk<1> inner(r.summed, inner_strides);
        for (std::int64_t i = 0; i < r.count; i++, inner.next())
          f(outer.offset(0) + inner.offset(0));
      };
      const auto value = [&](std::int64_t at) {
        return static_cast<double>(static_cast<Compute<T>>(x.as<T>()[at]));
      };
      double mean = 0, variance = 0;
      const auto n = static_cast<double>(r.count);
      each([&](std::int64_t at) { mean += value(at); });
      mean /= n;
      each([&](std::int64_t at) { variance += (value(at) - mean) * (value(at) - mean); });
      const double deviation = std::sqrt(variance / n) + 1e-9;  // as ONNX's definition has it
      each(
          [&](std::int64_t at) { y.as<T>()[at] = static_cast<T>((value(at) - mean) / deviation); });
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "MeanVarianceNormalization",
    .doc = "Mean 0 and variance 1 over the axes; by default over all but the channels.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"axes", AttributeKind::integers}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3,4,5]) { y = MeanVarianceNormalization(x) return y }",
                 "(x: f16[2,3]) { y = MeanVarianceNormalization(x, axes=[-1]) return y }"},
};

}  // namespace longshore::ops::op_mean_variance_normalization
