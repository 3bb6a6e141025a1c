#include "cpu/depthwise_i8.inner.hpp"
#include "cpu/support/conv.hpp"
#include "cpu/support/gemm_i8.hpp"
#include "cpu/support/phases.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

constexpr std::int64_t most_taps = 128;

/// One plane at a time, as int16 less the zero point: a padded element is 0.
class DepthwiseI8Kernel final : public BoundKernel {
 public:
  DepthwiseI8Kernel(const BindRequest& r, const ConvShape& s, Epilogue epilogue)
      : s_(s),
        phases_(s.window),
        f_(inner<DepthwiseI8>("depthwise_i8", r.isa)),
        requantise_(inner<Requantise>("requantise", r.isa)),
        epilogue_(std::move(epilogue)),
        is_signed_(r.input(0).dtype == DType::i8),
        zero_(r.input(0).quant.zero_point[0]) {
    const std::int64_t n = s_.groups * s_.window.taps();
    pack_ = r.pack(1, {"depthwise_i8", {n}}, static_cast<std::size_t>(n) * sizeof(std::int16_t),
                   [&](std::byte* to) {
                     std::copy_n(static_cast<const std::int8_t*>(r.input(1).constant), n,
                                 reinterpret_cast<std::int16_t*>(to));
                   });
    weights_ = reinterpret_cast<const std::int16_t*>(pack_.get());
  }

  std::size_t scratch_bytes(int threads) const noexcept override {
    return static_cast<std::size_t>(threads) * thread_bytes();
  }

  void run(const KernelRun& run) const noexcept override {
    const Window& w = s_.window;
    const auto* x = run.inputs[0].as<std::uint8_t>();
    auto* y = run.outputs[0].as<std::uint8_t>();
    run.pool.run(s_.batch * s_.groups, [&](std::int64_t plane, int thread) {
      std::byte* memory = run.scratch.data() + static_cast<std::size_t>(thread) * thread_bytes();
      auto* sums = reinterpret_cast<std::int32_t*>(memory);
      auto* copy = reinterpret_cast<std::int16_t*>(sums + (w.out[2] + 15) / 16 * 16);
      const std::uint8_t* from_plane = x + plane * w.in_plane();
      const std::int32_t zero = zero_;
      if (is_signed_)
        phases_.fill(reinterpret_cast<const std::int8_t*>(from_plane), copy, std::int16_t{0},
                     [zero](std::int8_t q) { return static_cast<std::int16_t>(q - zero); });
      else
        phases_.fill(from_plane, copy, std::int16_t{0},
                     [zero](std::uint8_t q) { return static_cast<std::int16_t>(q - zero); });
      const std::int64_t channel = plane % s_.groups;
      const std::int16_t* from[most_taps];
      const DepthwiseRowI8 row{from, weights_ + channel * w.taps(),
                               static_cast<std::size_t>(w.taps()), sums,
                               static_cast<std::size_t>(w.out[2])};
      for (std::int64_t i = 0; i < w.out[1]; i++) {
        for (std::int64_t t = 0; t < w.taps(); t++)
          from[t] = copy + phases_.at(i, t / w.kernel[2], t % w.kernel[2]);
        f_.row(row);
        epilogue_.row(requantise_, sums, channel, w.out[2],
                      y + plane * w.out_plane() + i * w.out[2]);
      }
    });
  }
  const char* name() const noexcept override { return "depthwise_i8"; }

 private:
  std::size_t thread_bytes() const {
    const std::int64_t bytes = (s_.window.out[2] + 15) / 16 * 64 + phases_.elements() * 2 + 64;
    return static_cast<std::size_t>((bytes + 63) / 64 * 64);
  }

  ConvShape s_;
  Phases phases_;
  const DepthwiseI8& f_;
  const Requantise& requantise_;
  Epilogue epilogue_;
  bool is_signed_;
  std::int32_t zero_;
  Pack pack_;
  const std::int16_t* weights_ = nullptr;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.input(0).quantised() || !r.output().quantised()) return nullptr;
  const std::optional<ConvShape> s = bound_conv_shape(r);
  Epilogue epilogue;
  if (!s || !s->depthwise() || s->window.taps() > most_taps ||
      !make_epilogue(r, s->channels_out(), 0, epilogue))
    return nullptr;
  return std::make_unique<DepthwiseI8Kernel>(r, *s, std::move(epilogue));
}

}  // namespace

extern constinit const Kernel kernel_depthwise_i8 = {
    .name = "depthwise_i8",
    .doc = "Quantised convolution with one input and one output channel in each group.",
    .operators = {"Conv", "com.microsoft.FusedConv"},
    .bind = bind,
    .example =
        "(x: i8[1,6,9,11] q(0.1, 3)) { y: i8[1,6,7,9] q(0.3, 1) = Conv(x, i8[6,1,3,3] q(0.02, "
        "0){3}, group=6) return y }",
};

}  // namespace longshore::kernels
