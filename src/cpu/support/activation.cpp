#include "cpu/support/activation.hpp"

namespace longshore::cpu {

std::optional<Activation> fused_activation(const BindRequest& r) {
  const std::string_view kind = r.attributes.text("activation");
  Activation a;
  if (kind.empty() || kind == "Identity") return a;
  const std::span<const float> params = r.attributes.reals("activation_params");
  const auto param = [&](std::size_t i, const char* own_name, float otherwise) {
    return i < params.size() ? params[i] : r.attributes.real(own_name, otherwise);
  };
  const auto& f = inner<EltwiseF32>("eltwise_f32", r.isa);
  const float infinity = __builtin_inff();
  if (kind == "Relu") {
    a.clamp = true;
    a.high = infinity;
  } else if (kind == "Clip") {
    a.clamp = true;
    a.low = param(0, "activation_alpha", -infinity);
    a.high = param(1, "activation_beta", infinity);
  } else if (kind == "LeakyRelu") {
    a.function = f.leaky_relu;
    a.p = param(0, "activation_alpha", 0.01f);
  } else if (kind == "Sigmoid") {
    a.function = f.sigmoid;
  } else if (kind == "Tanh") {
    a.function = f.tanh;
  } else if (kind == "HardSigmoid") {
    a.function = f.hard_sigmoid;
    a.p = param(0, "activation_alpha", 0.2f);
    a.q = param(1, "activation_beta", 0.5f);
  } else {
    return {};
  }
  return a;
}

}  // namespace longshore::cpu
