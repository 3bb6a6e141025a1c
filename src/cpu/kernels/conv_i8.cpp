#include "cpu/support/conv.hpp"
#include "cpu/support/gemm_i8.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// Groups of one block of unfolded input: they stay in L2 while all output channels use them.
constexpr std::int64_t block_groups = 49152;
constexpr std::int64_t most_tile = 12 * 32;

/// Quantised convolution: exact int32 sums of a block of pixels, then the integer epilogue.
class ConvI8 final : public BoundKernel {
 public:
  ConvI8(const BindRequest& r, const ConvShape& shape, Epilogue epilogue)
      : s_(shape),
        gemm_(inner<GemmI8>("gemm_i8", r.isa)),
        requantise_(inner<Requantise>("requantise", r.isa)),
        epilogue_(std::move(epilogue)),
        form_(activation_form(gemm_, r.input(0))),
        groups_(groups_of(gemm_, s_.depth())) {
    const auto nr = static_cast<std::int64_t>(gemm_.columns);
    pixels_ = std::clamp<std::int64_t>(block_groups / groups_ / nr * nr, nr, 512);
    pixels_ = std::min(pixels_, (s_.window.out_plane() + nr - 1) / nr * nr);
    stride_ = pixels_ + 16;
    pack(r);
  }

  std::size_t scratch_bytes(int threads) const noexcept override {
    return static_cast<std::size_t>(threads) * thread_bytes();
  }

  void run(const KernelRun& run) const noexcept override {
    const std::int64_t blocks = (s_.window.out_plane() + pixels_ - 1) / pixels_,
                       tasks = s_.batch * s_.groups * blocks;
    const auto mr = static_cast<std::int64_t>(gemm_.rows);
    const std::int64_t strips = (s_.group_out + mr - 1) / mr, enough = 3 * run.pool.threads();
    const std::int64_t parts = run.pool.threads() == 1 || tasks >= enough
                                   ? 1
                                   : std::min<std::int64_t>(strips, (enough + tasks - 1) / tasks);
    const std::int64_t rows_per_part = (strips + parts - 1) / parts * mr;
    run.pool.run(tasks * parts, [&](std::int64_t chunk, int thread) {
      const std::int64_t task = chunk / parts, from = chunk % parts * rows_per_part;
      if (from >= s_.group_out) return;
      block(task / blocks / s_.groups, task / blocks % s_.groups, task % blocks * pixels_, from,
            std::min(s_.group_out, from + rows_per_part), run.inputs[0].as<std::uint8_t>(),
            run.outputs[0].as<std::uint8_t>(),
            run.scratch.data() + static_cast<std::size_t>(thread) * thread_bytes());
    });
  }
  const char* name() const noexcept override { return "conv_i8"; }

 private:
  std::size_t thread_bytes() const {
    return (static_cast<std::size_t>(groups_ * stride_) * 4 +
            4 * static_cast<std::size_t>(stride_ + 64) + 64 + 63) /
           64 * 64;
  }

  void pack(const BindRequest& r) {
    const std::int64_t weights = s_.channels_out() * groups_;  // then the sum of each channel
    pack_ = r.pack(
        1,
        {"conv_i8",
         {gemm_.bytes, static_cast<std::int64_t>(gemm_.rows), s_.groups, s_.group_out, s_.depth()}},
        static_cast<std::size_t>(weights + s_.channels_out()) * sizeof(std::int32_t),
        [&](std::byte* to) {
          pack_weights(static_cast<const std::int8_t*>(r.input(1).constant),
                       reinterpret_cast<std::int32_t*>(to), weights);
        });
    packed_ = reinterpret_cast<const std::int32_t*>(pack_.get());
    fold_offset(epilogue_, s_.channels_out(), form_.offset, packed_ + weights);
  }

  void pack_weights(const std::int8_t* w, std::int32_t* packed, std::int64_t sums) const {
    const std::int64_t depth = s_.depth(), size = group_size(gemm_),
                       mr = static_cast<std::int64_t>(gemm_.rows);
    for (std::int64_t m = 0; m < s_.channels_out(); m++) {
      const std::int64_t in_group = m % s_.group_out, strip = in_group / mr * mr,
                         rows = std::min(mr, s_.group_out - strip);
      std::int32_t* to = packed + (m - in_group + strip) * groups_ + in_group - strip;
      for (std::int64_t k = 0; k < depth; k++)
        put_weight(gemm_, to[k / size * rows], k % size, w[m * depth + k]);
    }
    sum_weights(
        s_.channels_out(), depth, [&](std::int64_t m, std::int64_t k) { return w[m * depth + k]; },
        packed + sums);
  }

  void block(std::int64_t image, std::int64_t group, std::int64_t pixel, std::int64_t from,
             std::int64_t to, const std::uint8_t* x, std::uint8_t* y,
             std::byte* scratch) const noexcept {
    const std::int64_t plane = s_.window.out_plane(), count = std::min(pixels_, plane - pixel);
    const std::int64_t channel0 = group * s_.group_out;
    x += (image * s_.groups + group) * s_.group_in * s_.window.in_plane();
    y += (image * s_.channels_out() + channel0) * plane + pixel;
    auto* unfolded = reinterpret_cast<std::int32_t*>(scratch);
    unfold_all(x, pixel, count, unfolded,
               reinterpret_cast<std::uint8_t*>(unfolded + groups_ * stride_));

    const auto mr = static_cast<std::int64_t>(gemm_.rows),
               nr = static_cast<std::int64_t>(gemm_.columns);
    alignas(64) std::int32_t sums[most_tile];
    for (std::int64_t m = from; m < to; m += mr) {
      GemmTileI8 t{};
      t.m = static_cast<std::size_t>(std::min(mr, s_.group_out - m));
      t.a = packed_ + (channel0 + m) * groups_;
      t.b_stride = static_cast<std::size_t>(stride_);
      t.sums = sums;
      t.sums_stride = gemm_.columns;
      t.groups = static_cast<std::size_t>(groups_);
      for (std::int64_t j = 0; j < count; j += nr) {
        t.b = unfolded + j;
        t.n = static_cast<std::size_t>(std::min(nr, count - j));
        gemm_.weights_by_activations(t);
        for (std::size_t i = 0; i < t.m; i++) {
          const std::int64_t row = m + static_cast<std::int64_t>(i);
          epilogue_.row(requantise_, sums + i * gemm_.columns, channel0 + row,
                        static_cast<std::int64_t>(t.n), y + row * plane + j);
        }
      }
    }
  }

  void unfold_all(const std::uint8_t* x, std::int64_t pixel, std::int64_t count,
                  std::int32_t* unfolded, std::uint8_t* rows) const noexcept {
    const Window& w = s_.window;
    const std::int64_t depth = s_.depth(), size = group_size(gemm_), taps = w.taps(),
                       row = stride_ + 16;
    // Whole vectors are read up to the end of a tile.
    const std::int64_t whole = std::min(stride_, (count + 15) / 16 * 16);
    for (std::int64_t g = 0; g < groups_; g++) {
      const std::uint8_t* from[4];
      for (std::int64_t r = 0; r < size; r++) {
        const std::int64_t k = g * size + r;
        std::uint8_t* to = rows + r * row;
        from[r] = to;
        if (k >= depth)
          std::fill_n(to, count, form_.padding);  // its weight is 0
        else if (w.pointwise())
          from[r] = x + k * w.in_plane() + pixel;
        else
          unfold(w, x + k / taps * w.in_plane(), k % taps, pixel, count, form_.padding, to);
      }
      std::int32_t* to = unfolded + g * stride_;
      interleave(gemm_, form_, from, to, count);
      for (std::int64_t i = count; i < whole; i++) to[i] = 0;
    }
  }

  ConvShape s_;
  const GemmI8& gemm_;
  const Requantise& requantise_;
  Epilogue epilogue_;
  ActivationForm form_;
  std::int64_t groups_ = 0, pixels_ = 0, stride_ = 0;
  Pack pack_;
  const std::int32_t* packed_ = nullptr;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.input(0).quantised() || !r.output().quantised()) return nullptr;
  const std::optional<ConvShape> s = bound_conv_shape(r);
  Epilogue epilogue;
  if (!s || !make_epilogue(r, s->channels_out(), 0, epilogue)) return nullptr;
  if (s->depthwise() && s->window.taps() <= 128) return nullptr;  // depthwise_i8
  return std::make_unique<ConvI8>(r, *s, std::move(epilogue));
}

}  // namespace

extern constinit const Kernel kernel_conv_i8 = {
    .name = "conv_i8",
    .doc = "Quantised convolution over one or two spatial dims.",
    .operators = {"Conv", "com.microsoft.FusedConv"},
    .bind = bind,
    .example =
        "(x: i8[1,5,9,11] q(0.1, 3)) { y: i8[1,7,7,9] q(0.3, 1) = Conv(x, i8[7,5,3,3] q(0.02, "
        "0){3}) return y }",
};

}  // namespace longshore::kernels
