#include "ops/norm.hpp"

namespace longshore::ops {

Status eval_group_norm(EvalContext& c, std::int64_t groups, double epsilon) noexcept {
  const TensorView &x = c.input(0), &scale = c.input(1), &bias = c.input(2);
  if (x.shape.rank < 2)
    return Status::error(Code::bad_argument, "the input needs batch and channel dims");
  const std::int64_t batch = x.shape[0], channels = x.shape[1],
                     area = x.shape.product(2, x.shape.rank);
  if (groups < 1 || channels % groups != 0 || scale.elements() != channels ||
      bias.elements() != channels)
    return Status::error(
        Code::bad_argument, "%lld channels do not fit %lld groups, %lld scales and %lld biases",
        static_cast<long long>(channels), static_cast<long long>(groups),
        static_cast<long long>(scale.elements()), static_cast<long long>(bias.elements()));
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const std::int64_t together = channels / groups, run = together * area;
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t g = 0; g < batch * groups && run > 0; g++) {
      const T* from = x.as<T>() + g * run;
      const Moments m = moments(from, run);
      const double factor = 1 / std::sqrt(m.variance + epsilon);
      for (std::int64_t i = 0; i < run; i++) {
        const std::int64_t channel = g % groups * together + i / area;
        const double normal = (static_cast<Compute<T>>(from[i]) - m.mean) * factor;
        y.as<T>()[g * run + i] =
            static_cast<T>(normal * static_cast<Compute<T>>(scale.as<T>()[channel]) +
                           static_cast<Compute<T>>(bias.as<T>()[channel]));
      }
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace longshore::ops
