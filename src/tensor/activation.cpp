#include "tensor/activation.hpp"

#include <string>
#include <utility>

#include "tensor/quant.hpp"

namespace longshore {

Status Activation::from(std::string_view name, std::span<const float> parameters,
                        Activation& out) noexcept {
  struct Row {
    std::string_view name;
    Kind kind;
    std::size_t least, most;
    float a, b;
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr Row rows[] = {{"", Kind::none, 0, 0, 0, 0},
                          {"Identity", Kind::none, 0, 0, 0, 0},
                          {"Relu", Kind::clamp, 0, 0, 0, infinity},
                          {"Clip", Kind::clamp, 2, 2, 0, 0},
                          {"LeakyRelu", Kind::leaky_relu, 0, 1, 0.01f, 0},
                          {"Sigmoid", Kind::sigmoid, 0, 0, 0, 0},
                          {"Tanh", Kind::tanh, 0, 0, 0, 0},
                          {"HardSigmoid", Kind::hard_sigmoid, 0, 2, 0.2f, 0.5f}};
  for (const Row& row : rows) {
    if (row.name != name) continue;
    if (parameters.size() < row.least || parameters.size() > row.most)
      return Status::error(Code::bad_model, "activation %s takes %zu parameters, not %zu",
                           row.name.data(), row.most, parameters.size());
    const float a = parameters.size() > 0 ? parameters[0] : row.a,
                b = parameters.size() > 1 ? parameters[1] : row.b;
    out = {.kind = row.kind};
    if (row.kind == Kind::clamp)
      out.low = a, out.high = b;
    else
      out.alpha = a, out.beta = b;
    return {};
  }
  return Status::error(Code::unsupported, "there is no fused activation '%.40s'", name.data());
}

Status Activation::from(const Attributes& attributes, Activation& out) noexcept {
  float parameters[2] = {};
  std::size_t count = 0;
  for (std::string_view name : {"activation_alpha", "activation_beta"})
    if (attributes.has(name)) parameters[count++] = attributes.real(name);
  const std::span<const float> given = attributes.reals("activation_params");
  return from(attributes.text("activation"), given.empty() ? std::span(parameters, count) : given,
              out);
}

bool Activation::saturates(DType codes, float scale, std::int32_t zero_point) const noexcept {
  const CodeRange r = code_range(codes);
  std::int32_t lowest = r.lowest, highest = r.highest;
  narrow(scale, zero_point, lowest, highest);
  return kind == Kind::clamp && lowest == r.lowest && highest == r.highest;
}

void Activation::to(Attributes& attributes) const {
  for (std::string_view name : {"activation", "activation_params", "activation_alpha",
                                "activation_beta", "activation_gamma"})
    attributes.erase(name);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  switch (kind) {
    case Kind::none:
      return;
    case Kind::clamp: {
      const bool relu = low == 0 && high == infinity;
      attributes.set("activation", std::string(relu ? "Relu" : "Clip"));
      if (!relu) attributes.set("activation_params", Reals{low, high});
      return;
    }
    case Kind::leaky_relu:
      attributes.set("activation", std::string("LeakyRelu"));
      attributes.set("activation_params", Reals{alpha});
      return;
    case Kind::sigmoid:
      attributes.set("activation", std::string("Sigmoid"));
      return;
    case Kind::tanh:
      attributes.set("activation", std::string("Tanh"));
      return;
    case Kind::hard_sigmoid:
      attributes.set("activation", std::string("HardSigmoid"));
      attributes.set("activation_params", Reals{alpha, beta});
  }
}

}  // namespace longshore
