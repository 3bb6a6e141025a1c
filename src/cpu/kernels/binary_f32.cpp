#include "cpu/eltwise_f32.inner.hpp"
#include "cpu/support/broadcast.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

class Binary final : public BoundKernel {
 public:
  Binary(BinaryF32 f, const Broadcast& broadcast) : f_(f), broadcast_(broadcast) {}

  void run(const KernelRun& run) const noexcept override {
    const float *a = run.inputs[0].as<float>(), *b = run.inputs[1].as<float>();
    float* y = run.outputs[0].as<float>();
    broadcast_.run(run.pool,
                   [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at, std::int64_t n) {
                     f_(a + at_a, broadcast_.step_a(), b + at_b, broadcast_.step_b(), y + at,
                        static_cast<std::size_t>(n));
                   });
  }
  const char* name() const noexcept override { return "binary_f32"; }

 private:
  BinaryF32 f_;
  Broadcast broadcast_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.fixed() || !r.all_f32() || r.inputs.size() != 2) return nullptr;
  const Operand &a = r.input(0), &b = r.input(1), &y = r.output();
  if (!a.present() || !b.present() || !y.present()) return nullptr;
  if (!Broadcast::fits(a.shape, y.shape) || !Broadcast::fits(b.shape, y.shape)) return nullptr;
  const auto& f = inner<EltwiseF32>("eltwise_f32", r.isa);
  const BinaryF32 function = r.name == "Add"   ? f.add
                             : r.name == "Sub" ? f.sub
                             : r.name == "Mul" ? f.mul
                                               : f.div;
  return std::make_unique<Binary>(function, Broadcast(a.shape, b.shape, y.shape));
}

}  // namespace

extern constinit const Kernel kernel_binary_f32 = {
    .name = "binary_f32",
    .doc = "Add, Sub, Mul and Div of f32 tensors with broadcasting.",
    .operators = {"Add", "Sub", "Mul", "Div"},
    .bind = bind,
    .example = "(a: f32[4,5,33], b: f32[33]) { y = Add(a, b) return y }",
};

}  // namespace longshore::kernels
