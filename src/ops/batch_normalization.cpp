#include "base/error.hpp"
#include "ops/norm.hpp"

namespace longshore::ops::op_batch_normalization {
namespace {

/// Before opset 14 further outputs were for training only; `is_test` and `spatial` are history.
void normalise(Node& n, int opset, Rewriter&) {
  if (n.attributes.integer("spatial", 1) == 0)
    fail(Code::unsupported, "node ", describe(n), ": BatchNormalization with spatial = 0");
  for (std::string_view name : {"spatial", "is_test", "consumed_inputs"}) n.attributes.erase(name);
  if (opset < 14 && n.outputs.size() > 1) n.outputs.resize(1);
}

void infer(InferContext& c) {
  c.output(0, c.input(0));
  c.output(1, c.input(3));
  c.output(2, c.input(4));
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const Shape& dims = x.shape;
  const std::int64_t batch = dims.rank > 0 ? dims[0] : 1, channels = dims.rank > 1 ? dims[1] : 1;
  const std::int64_t area = dims.rank > 2 ? dims.product(2, dims.rank) : 1;
  for (std::size_t i = 1; i < 5; i++)
    if (c.input(i).elements() != channels)
      return Status::error(
          Code::bad_argument, "scale, bias, mean and variance need %lld elements, found %lld",
          static_cast<long long>(channels), static_cast<long long>(c.input(i).elements()));
  const double epsilon = c.attributes.real("epsilon", 1e-5f),
               momentum = c.attributes.real("momentum", 0.9f);
  const bool training = c.attributes.integer("training_mode") != 0;
  MutableView y, running_mean, running_variance;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (c.wants(1)) LONGSHORE_TRY(c.output(1, c.input(3).shape, running_mean));
  if (c.wants(2)) LONGSHORE_TRY(c.output(2, c.input(4).shape, running_variance));
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    const auto each = [&](std::int64_t channel, auto&& f) {
      for (std::int64_t n = 0; n < batch; n++)
        for (std::int64_t i = 0; i < area; i++) f((n * channels + channel) * area + i);
    };
    for (std::int64_t k = 0; k < channels; k++) {
      double mean = load_real(c.input(3), k), variance = load_real(c.input(4), k);
      if (training) {
        const double old_mean = mean, old_variance = variance,
                     n = static_cast<double>(batch * area);
        mean = variance = 0;
        each(k, [&](std::int64_t i) { mean += static_cast<Compute<T>>(x.as<T>()[i]); });
        mean /= n;
        each(k, [&](std::int64_t i) {
          const double d = static_cast<Compute<T>>(x.as<T>()[i]) - mean;
          variance += d * d;
        });
        variance /= n;
        if (running_mean.data)
          store_real(running_mean, k, old_mean * momentum + mean * (1 - momentum));
        if (running_variance.data)
          store_real(running_variance, k, old_variance * momentum + variance * (1 - momentum));
      } else {
        if (running_mean.data) store_real(running_mean, k, mean);
        if (running_variance.data) store_real(running_variance, k, variance);
      }
      const double factor = load_real(c.input(1), k) / std::sqrt(variance + epsilon);
      const double bias = load_real(c.input(2), k);
      each(k, [&](std::int64_t i) {
        y.as<T>()[i] =
            static_cast<T>((static_cast<Compute<T>>(x.as<T>()[i]) - mean) * factor + bias);
      });
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "BatchNormalization",
    .doc =
        "y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by channel; training_mode takes "
        "mean and variance from x.",
    .since = 15,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"scale", type_set::float_types, "T1"},
                          {"B", type_set::float_types, "T1"},
                          {"input_mean", type_set::float_types, "T2"},
                          {"input_var", type_set::float_types, "T2"}},
               .outputs = {{"Y", type_set::float_types, "T"},
                           {"running_mean", type_set::float_types, "T2", Presence::optional},
                           {"running_var", type_set::float_types, "T2", Presence::optional}},
               .attributes = {{"epsilon", AttributeKind::real},
                              {"momentum", AttributeKind::real},
                              {"training_mode"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3,4,5], s: f32[3], b: f32[3], m: f32[3]) "
                 "{ y = BatchNormalization(x, s, b, m, f32[3]{0.5, 1, 2}) return y }",
                 "(x: f32[4,3], s: f32[3], b: f32[3], m: f32[3]) "
                 "{ y, rm, rv = BatchNormalization(x, s, b, m, f32[3]{1}, training_mode=1) return "
                 "y, rm, rv }"},
};

}  // namespace longshore::ops::op_batch_normalization
