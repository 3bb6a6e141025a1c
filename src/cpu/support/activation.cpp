#include "cpu/support/activation.hpp"

namespace longshore::cpu {

std::optional<BoundActivation> bound_activation(const BindRequest& r) {
  Activation a;
  if (!Activation::from(r.attributes, a).ok()) return {};
  BoundActivation out;
  out.p = a.alpha;
  out.q = a.beta;
  const auto& f = inner<EltwiseF32>("eltwise_f32", r.isa);
  switch (a.kind) {
    case Activation::Kind::none:
      break;
    case Activation::Kind::clamp:
      out.clamp = true;
      out.low = a.low;
      out.high = a.high;
      break;
    case Activation::Kind::leaky_relu:
      out.function = f.leaky_relu;
      break;
    case Activation::Kind::sigmoid:
      out.function = f.sigmoid;
      break;
    case Activation::Kind::tanh:
      out.function = f.tanh;
      break;
    case Activation::Kind::hard_sigmoid:
      out.function = f.hard_sigmoid;
      break;
  }
  return out;
}

}  // namespace longshore::cpu
