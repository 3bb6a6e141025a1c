#include "cpu/support/conv.hpp"
#include "cpu/support/gemm_f32.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// Floats of one block of unfolded input: about a quarter of a typical L2.
constexpr std::int64_t block_floats = 65536;

/// C[group_out x pixels] = W * unfolded X, one block of pixels at a time; the unfolded block is
/// made in scratch and stays in L2 while all output channels use it.
class Conv final : public BoundKernel {
 public:
  Conv(const ConvShape& shape, const GemmF32& gemm, const EltwiseF32& eltwise,
       const BoundActivation& activation)
      : s_(shape), gemm_(gemm), eltwise_(eltwise), activation_(activation) {
    const auto nr = static_cast<std::int64_t>(gemm.columns);
    depth_ = std::min<std::int64_t>(s_.depth(), gemm_depth);
    pixels_ = std::clamp<std::int64_t>(block_floats / depth_ / nr * nr, nr, 1024);
    pixels_ = std::min(pixels_, (s_.window.out_plane() + nr - 1) / nr * nr);
    stride_ = pixels_ + 16;  // away from powers of two
  }

  /// Weights that are constants are packed once.
  void pack(const BindRequest& r) {
    packed_ = r.pack(
        1,
        {"conv_f32", {static_cast<std::int64_t>(gemm_.rows), s_.groups, s_.group_out, s_.depth()}},
        weight_floats() * sizeof(float), [&](std::byte* to) {
          pack_weights(static_cast<const float*>(r.input(1).constant),
                       reinterpret_cast<float*>(to));
        });
  }

  std::size_t scratch_bytes(int threads) const noexcept override {
    const auto floats =
        static_cast<std::size_t>(threads) * block_size() + (packed_ ? 0 : weight_floats());
    return floats * sizeof(float);
  }

  void run(const KernelRun& run) const noexcept override {
    auto* scratch = reinterpret_cast<float*>(run.scratch.data());
    const auto* weights = reinterpret_cast<const float*>(packed_.get());
    if (!packed_) {
      float* to = scratch + static_cast<std::size_t>(run.pool.threads()) * block_size();
      pack_weights(run.inputs[1].as<float>(), to);
      weights = to;
    }
    const float* bias = run.inputs.size() > 2 ? run.inputs[2].as<float>() : nullptr;
    const float* residual = run.inputs.size() > 3 ? run.inputs[3].as<float>() : nullptr;

    const std::int64_t blocks = (s_.window.out_plane() + pixels_ - 1) / pixels_;
    const std::int64_t tasks = s_.batch * s_.groups * blocks;
    const auto mr = static_cast<std::int64_t>(gemm_.rows);
    const std::int64_t strips = (s_.group_out + mr - 1) / mr;
    // Few blocks: the output channels are shared out too, and the unfolding is repeated.
    const std::int64_t enough = 3 * run.pool.threads();
    const std::int64_t parts = run.pool.threads() == 1 || tasks >= enough
                                   ? 1
                                   : std::min<std::int64_t>(strips, (enough + tasks - 1) / tasks);
    const std::int64_t rows_per_part = (strips + parts - 1) / parts * mr;
    run.pool.run(tasks * parts, [&](std::int64_t chunk, int thread) {
      const std::int64_t task = chunk / parts, from = chunk % parts * rows_per_part;
      if (from >= s_.group_out) return;
      const std::int64_t image = task / blocks / s_.groups, group = task / blocks % s_.groups;
      const Part part{image, group, task % blocks * pixels_, from,
                      std::min(s_.group_out, from + rows_per_part)};
      block(part, run.inputs[0].as<float>(), weights, bias, residual, run.outputs[0].as<float>(),
            scratch + static_cast<std::size_t>(thread) * block_size());
    });
  }

  const char* name() const noexcept override { return "conv_f32"; }

 private:
  struct Part {
    std::int64_t image, group, pixel, from, to;  // output channels [from, to) of the group
  };
  std::size_t block_size() const { return static_cast<std::size_t>(depth_ * stride_ + 64); }
  std::size_t weight_floats() const {
    return static_cast<std::size_t>(s_.channels_out() * s_.depth());
  }

  void pack_weights(const float* weights, float* to) const {
    const std::int64_t each = s_.group_out * s_.depth();
    for (std::int64_t g = 0; g < s_.groups; g++)
      pack_a(gemm_, {weights + g * each, s_.depth(), 1}, s_.group_out, s_.depth(), to + g * each);
  }

  void block(const Part& part, const float* x, const float* weights, const float* bias,
             const float* residual, float* y, float* unfolded) const noexcept {
    const std::int64_t plane = s_.window.out_plane(), mr = static_cast<std::int64_t>(gemm_.rows),
                       nr = static_cast<std::int64_t>(gemm_.columns), depth = s_.depth(),
                       taps = s_.window.taps();
    const std::int64_t count = std::min(pixels_, plane - part.pixel);
    const std::int64_t channel0 = part.group * s_.group_out;
    x += (part.image * s_.groups + part.group) * s_.group_in * s_.window.in_plane();
    float* out = y + (part.image * s_.channels_out() + channel0) * plane + part.pixel;
    if (residual) {
      residual += out - y;
      for (std::int64_t m = part.from; m < part.to; m++) {
        const float b = bias ? bias[channel0 + m] : 0;
        eltwise_.add(residual + m * plane, 1, &b, 0, out + m * plane,
                     static_cast<std::size_t>(count));
      }
    }
    for (std::int64_t k0 = 0; k0 < depth; k0 += depth_) {
      const std::int64_t deep = std::min(depth_, depth - k0);
      const bool last = k0 + deep == depth;
      for (std::int64_t k = k0; k < k0 + deep; k++)
        unfold(s_.window, x + k / taps * s_.window.in_plane(), k % taps, part.pixel, count, 0.0f,
               unfolded + (k - k0) * stride_);
      for (std::int64_t m = part.from; m < part.to; m += mr) {
        GemmTileF32 t{};
        t.m = static_cast<std::size_t>(std::min(mr, s_.group_out - m));
        t.a = weights + (channel0 + m) * depth + k0 * static_cast<std::int64_t>(t.m);
        t.b_stride = static_cast<std::size_t>(stride_);
        t.c_stride = static_cast<std::size_t>(plane);
        t.k = static_cast<std::size_t>(deep);
        t.row_start = bias ? bias + channel0 + m : nullptr;
        t.accumulate = k0 > 0 || residual;
        t.clamp = last && activation_.clamp;
        t.low = activation_.low;
        t.high = activation_.high;
        for (std::int64_t j = 0; j < count; j += nr) {
          t.b = unfolded + j;
          t.c = out + m * plane + j;
          t.n = static_cast<std::size_t>(std::min(nr, count - j));
          gemm_.tile(t);
        }
        if (last && activation_.function)
          for (std::size_t i = 0; i < t.m; i++)
            activation_.apply(out + (m + static_cast<std::int64_t>(i)) * plane,
                              static_cast<std::size_t>(count));
      }
    }
  }

  ConvShape s_;
  const GemmF32& gemm_;
  const EltwiseF32& eltwise_;
  BoundActivation activation_;
  std::int64_t depth_ = 0, pixels_ = 0, stride_ = 0;
  Pack packed_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.all_f32()) return nullptr;
  const std::optional<ConvShape> s = bound_conv_shape(r);
  const std::optional<BoundActivation> activation = bound_activation(r);
  if (!s || !activation) return nullptr;
  if (s->depthwise() && s->window.taps() <= 128 && !r.input(3).present())
    return nullptr;  // depthwise_f32
  auto kernel = std::make_unique<Conv>(*s, inner<GemmF32>("gemm_f32", r.isa),
                                       inner<EltwiseF32>("eltwise_f32", r.isa), *activation);
  if (r.input(1).constant) kernel->pack(r);
  return kernel;
}

}  // namespace

extern constinit const Kernel kernel_conv_f32 = {
    .name = "conv_f32",
    .doc = "f32 convolution over one or two spatial dims, as a blocked matrix product.",
    .operators = {"Conv", "com.microsoft.FusedConv"},
    .bind = bind,
    .example = "(x: f32[1,5,9,11], w: f32[7,5,3,3]) { y = Conv(x, w, pads=[1,1,1,1]) return y }",
};

}  // namespace longshore::kernels
