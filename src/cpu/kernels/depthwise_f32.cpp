#include "cpu/depthwise_f32.inner.hpp"
#include "cpu/support/activation.hpp"
#include "cpu/support/conv.hpp"
#include "cpu/support/phases.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

constexpr std::int64_t most_taps = 128;

/// One plane at a time: copied with its padding, then each output row is a sum of shifted rows.
class Depthwise final : public BoundKernel {
 public:
  Depthwise(const ConvShape& s, const DepthwiseF32& f, const BoundActivation& activation)
      : s_(s), phases_(s.window), f_(f), activation_(activation) {}

  std::size_t scratch_bytes(int threads) const noexcept override {
    return static_cast<std::size_t>(threads) * plane_floats() * sizeof(float);
  }
  void run(const KernelRun& run) const noexcept override {
    const Window& w = s_.window;
    const float *x = run.inputs[0].as<float>(), *weights = run.inputs[1].as<float>();
    const float* bias = run.inputs.size() > 2 ? run.inputs[2].as<float>() : nullptr;
    float* y = run.outputs[0].as<float>();
    run.pool.run(s_.batch * s_.groups, [&](std::int64_t plane, int thread) {
      float* copy = reinterpret_cast<float*>(run.scratch.data()) +
                    static_cast<std::size_t>(thread) * plane_floats();
      phases_.fill(x + plane * w.in_plane(), copy, 0.0f, Phases::Same{});
      const std::int64_t channel = plane % s_.groups;
      const float* from[most_taps];
      DepthwiseRowF32 row{from,
                          weights + channel * w.taps(),
                          static_cast<std::size_t>(w.taps()),
                          bias ? bias[channel] : 0,
                          nullptr,
                          static_cast<std::size_t>(w.out[2]),
                          activation_.clamp,
                          activation_.low,
                          activation_.high};
      for (std::int64_t i = 0; i < w.out[1]; i++) {
        for (std::int64_t t = 0; t < w.taps(); t++)
          from[t] = copy + phases_.at(i, t / w.kernel[2], t % w.kernel[2]);
        row.y = y + plane * w.out_plane() + i * w.out[2];
        f_.row(row);
        activation_.apply(row.y, row.n);
      }
    });
  }
  const char* name() const noexcept override { return "depthwise_f32"; }

 private:
  std::size_t plane_floats() const { return static_cast<std::size_t>(phases_.elements() + 64); }

  ConvShape s_;
  Phases phases_;
  const DepthwiseF32& f_;
  BoundActivation activation_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.all_f32() || r.input(3).present()) return nullptr;
  const std::optional<ConvShape> s = bound_conv_shape(r);
  const std::optional<BoundActivation> activation = bound_activation(r);
  if (!s || !activation || !s->depthwise() || s->window.taps() > most_taps) return nullptr;
  return std::make_unique<Depthwise>(*s, inner<DepthwiseF32>("depthwise_f32", r.isa), *activation);
}

}  // namespace

extern constinit const Kernel kernel_depthwise_f32 = {
    .name = "depthwise_f32",
    .doc = "f32 convolution with one input and one output channel in each group.",
    .operators = {"Conv", "com.microsoft.FusedConv"},
    .bind = bind,
    .example = "(x: f32[1,6,9,11], w: f32[6,1,3,3]) { y = Conv(x, w, group=6) return y }",
};

}  // namespace longshore::kernels
