#include "ops/norm.hpp"

namespace longshore::ops::op_lrn {
namespace {

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const std::int64_t size = c.attributes.integer("size");
  if (x.shape.rank < 2 || size < 1)
    return Status::error(Code::bad_argument, "it needs channels and a size of at least 1");
  const double alpha = c.attributes.real("alpha", 1e-4f), beta = c.attributes.real("beta", 0.75f);
  const double bias = c.attributes.real("bias", 1.0f);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const std::int64_t channels = x.shape[1], area = x.shape.product(2, x.shape.rank);
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t i = 0, n = x.elements(); i < n; i++) {
      const std::int64_t channel = i / area % channels;
      // size - 1 neighbours, the odd one after.
      const std::int64_t first = std::max<std::int64_t>(0, channel - (size - 1) / 2);
      const std::int64_t last = std::min(channels - 1, channel + size / 2);
      double square = 0;
      for (std::int64_t k = first; k <= last; k++) {
        const double value = static_cast<Compute<T>>(x.as<T>()[i + (k - channel) * area]);
        square += value * value;
      }
      const double divisor = std::pow(bias + alpha / static_cast<double>(size) * square, beta);
      y.as<T>()[i] = static_cast<T>(static_cast<Compute<T>>(x.as<T>()[i]) / divisor);
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LRN",
    .doc = "y = x / (bias + alpha / size * sum of squares over the neighbouring channels)^beta.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"size", AttributeKind::integer, true},
                              {"alpha", AttributeKind::real},
                              {"beta", AttributeKind::real},
                              {"bias", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5,3,4]) { y = LRN(x, size=3) return y }"},
};

}  // namespace longshore::ops::op_lrn
