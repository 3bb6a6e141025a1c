#include <algorithm>

#include "cpu/bind.hpp"
#include "cpu/eltwise_f32.inner.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

constexpr std::int64_t chunk = 16384;  // elements of one claim by a thread

class Unary final : public BoundKernel {
 public:
  Unary(UnaryF32 f, float p, float q) : f_(f), p_(p), q_(q) {}
  void run(const KernelRun& run) const noexcept override {
    const float* x = run.inputs[0].as<float>();
    float* y = run.outputs[0].as<float>();
    const std::int64_t n = run.outputs[0].elements();
    run.pool.run((n + chunk - 1) / chunk, [&](std::int64_t i, int) {
      const std::int64_t from = i * chunk, count = std::min(chunk, n - from);
      f_(x + from, y + from, static_cast<std::size_t>(count), p_, q_);
    });
  }
  const char* name() const noexcept override { return "unary_f32"; }

 private:
  UnaryF32 f_;
  float p_, q_;
};

/// The constant scalar of an optional input, or `otherwise`; false if it is there but not constant.
bool scalar(const Operand& o, float otherwise, float& value) {
  value = otherwise;
  if (!o.present()) return true;
  if (!o.constant || !o.fixed_shape || o.shape.elements() != 1) return false;
  value = *static_cast<const float*>(o.constant);
  return true;
}

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.fixed() || !r.all_f32() || !r.input(0).present() || !r.output().present()) return nullptr;
  if (!(r.input(0).shape == r.output().shape)) return nullptr;
  const auto& f = inner<EltwiseF32>("eltwise_f32", r.isa);
  const auto make = [](UnaryF32 function, float p = 0, float q = 0) {
    return std::make_unique<Unary>(function, p, q);
  };
  if (r.name == "Relu") return make(f.relu);
  if (r.name == "LeakyRelu") return make(f.leaky_relu, r.attributes.real("alpha", 0.01f));
  if (r.name == "Sigmoid") return make(f.sigmoid);
  if (r.name == "Tanh") return make(f.tanh);
  if (r.name == "Exp") return make(f.exp);
  if (r.name == "HardSwish") return make(f.hard_swish);
  if (r.name == "HardSigmoid")
    return make(f.hard_sigmoid, r.attributes.real("alpha", 0.2f), r.attributes.real("beta", 0.5f));
  if (r.name == "Swish" && r.attributes.real("alpha", 1) == 1) return make(f.silu);
  float low = 0, high = 0;
  if (r.name == "Clip" && scalar(r.input(1), -__builtin_inff(), low) &&
      scalar(r.input(2), __builtin_inff(), high))
    return make(f.clip, low, high);
  return nullptr;
}

}  // namespace

extern constinit const Kernel kernel_unary_f32 = {
    .name = "unary_f32",
    .doc = "Element-wise f32 functions of one tensor.",
    .operators = {"Relu", "Clip", "LeakyRelu", "Sigmoid", "Swish", "Tanh", "Exp", "HardSigmoid",
                  "HardSwish"},
    .bind = bind,
    .example = "(x: f32[100]) { y = Tanh(x) return y }",
};

}  // namespace longshore::kernels
