// The convolution that Conv, FusedConv, ConvInteger and QLinearConv share.
#pragma once
#include "ir/quantised.hpp"
#include "ops/codes.hpp"
#include "ops/window.hpp"
#include "tensor/activation.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops {

/// acc[plane] = sum of weights times inputs: `channels` planes of x, as many kernels in w. Floats
/// are added in the order channel, then tap.
template <class A>
void convolve(const Window& w, std::int64_t channels, const A* x, const A* weights,
              A* __restrict acc) {
  std::fill_n(acc, w.out_plane(), A{});
  for (std::int64_t c = 0; c < channels; c++, x += w.in_plane())
    for (std::int64_t kd = 0; kd < w.kernel[0]; kd++)
      for (std::int64_t kh = 0; kh < w.kernel[1]; kh++)
        for (std::int64_t kw = 0; kw < w.kernel[2]; kw++) {
          const A factor = *weights++;
          const IndexRange depth = outputs_of_tap(w, 0, kd), rows = outputs_of_tap(w, 1, kh),
                           columns = outputs_of_tap(w, 2, kw);
          const std::int64_t shift = kw * w.dilation[2] - w.begin[2], step = w.stride[2];
          for (std::int64_t d = depth.from; d < depth.to; d++)
            for (std::int64_t h = rows.from; h < rows.to; h++) {
              const std::int64_t at = d * w.stride[0] - w.begin[0] + kd * w.dilation[0];
              const std::int64_t row = h * w.stride[1] - w.begin[1] + kh * w.dilation[1];
              const A* __restrict from = x + (at * w.in[1] + row) * w.in[2];
              A* __restrict to = acc + (d * w.out[1] + h) * w.out[2];
              if (step == 1)
                for (std::int64_t i = columns.from; i < columns.to; i++)
                  to[i] += factor * from[i + shift];
              else
                for (std::int64_t i = columns.from; i < columns.to; i++)
                  to[i] += factor * from[i * step + shift];
            }
        }
}

/// Where the planes of one convolution live in scratch: the inputs of a group, the weights of one
/// output channel, one output plane, all in the accumulator's type.
template <class A>
struct ConvScratch {
  A *x = nullptr, *w = nullptr, *acc = nullptr;
  static std::size_t bytes(const ConvShape& s) noexcept {
    const std::int64_t n =
        s.group_in * (s.window.in_plane() + s.window.taps()) + s.window.out_plane();
    return static_cast<std::size_t>(n) * sizeof(A);
  }
  static Status from(EvalContext& c, const ConvShape& s, ConvScratch& out) noexcept {
    if (c.scratch.size() < bytes(s))
      return Status::error(Code::internal, "too little scratch memory");
    out.x = reinterpret_cast<A*>(c.scratch.data());
    out.w = out.x + s.group_in * s.window.in_plane();
    out.acc = out.w + s.group_in * s.window.taps();
    return {};
  }
};

/// `scratch` of the family.
std::size_t conv_scratch(const Attributes& a, const TensorView& x, const TensorView& w) noexcept;

/// Elements [from, from + n) in type A, less `zero`. Unsigned A wraps around as int32 sums do.
template <class A>
void load_elements(const TensorView& t, std::int64_t from, std::int64_t n, std::int32_t zero,
                   A* to) noexcept {
  if constexpr (std::is_floating_point_v<A>) {
    visit_type(FloatTypes{}, t.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < n; i++) to[i] = static_cast<A>(t.as<T>()[from + i]);
    });
  } else {
    visit_type(FactorTypes{}, t.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < n; i++)
        to[i] = static_cast<A>(static_cast<std::int32_t>(t.as<T>()[from + i]) - zero);
    });
  }
}

/// Runs the loops: zero_w(m) is the zero point of output channel m's weights; finish(n, m, acc)
/// takes one plane of sums.
template <class A, class ZeroW, class Finish>
Status run_conv(EvalContext& c, const ConvShape& s, const TensorView& x, const TensorView& w,
                std::int32_t zero_x, ZeroW&& zero_w, Finish&& finish) noexcept {
  ConvScratch<A> scratch;
  LONGSHORE_TRY(ConvScratch<A>::from(c, s, scratch));
  const std::int64_t planes = s.group_in * s.window.in_plane(), taps = s.group_in * s.window.taps();
  for (std::int64_t n = 0; n < s.batch; n++)
    for (std::int64_t g = 0; g < s.groups; g++) {
      load_elements(x, (n * s.groups + g) * planes, planes, zero_x, scratch.x);
      for (std::int64_t k = 0; k < s.group_out; k++) {
        const std::int64_t m = g * s.group_out + k;
        load_elements(w, m * taps, taps, zero_w(m), scratch.w);
        convolve(s.window, s.group_in, scratch.x, scratch.w, scratch.acc);
        finish(n, m, scratch.acc);
      }
    }
  return {};
}

/// y = activation(conv(x, w) + bias + residual) in floating point.
template <class A>
Status eval_conv_as(EvalContext& c, const ConvShape& s, const Activation& activation) noexcept {
  const TensorView &x = c.input(0), &w = c.input(1), &bias = c.input(2), &residual = c.input(3);
  const std::int64_t plane = s.window.out_plane();
  if (bias.present() && bias.elements() != w.shape[0])
    return Status::error(Code::bad_argument, "the bias has %lld elements, not %lld",
                         static_cast<long long>(bias.elements()),
                         static_cast<long long>(w.shape[0]));
  if (residual.present() && !(residual.shape == s.out))
    return Status::error(Code::bad_argument, "the residual does not have the dims of the output");
  MutableView y;
  LONGSHORE_TRY(c.output(0, s.out, y));
  Status status;
  visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    status = run_conv<A>(
        c, s, x, w, 0, [](std::int64_t) { return 0; },
        [&](std::int64_t n, std::int64_t m, const A* acc) {
          const A b = bias.present() ? static_cast<A>(bias.as<T>()[m]) : A{};
          const std::int64_t start = (n * w.shape[0] + m) * plane;
          for (std::int64_t i = 0; i < plane; i++) {
            A sum = acc[i] + b;
            if (residual.present()) sum += static_cast<A>(residual.as<T>()[start + i]);
            y.as<T>()[start + i] = static_cast<T>(activation(sum));
          }
        });
  });
  return status;
}

Status eval_conv(EvalContext& c, const Activation& activation) noexcept;

/// The integer formula of docs/numbers.md; other mixtures of types take the general way.
Status eval_conv_quantised(EvalContext& c, const OpDef& op, const Activation& activation) noexcept;

/// Inference of the family: x and w are the input numbers of data and weights.
void infer_conv_as(InferContext& c, std::size_t x_at, std::size_t w_at, DType dtype);

void conv_facts_as(const NodeTypes& n, std::size_t w_at, Facts& facts);

std::int64_t conv_macs_as(const NodeTypes& n, std::size_t w_at);

inline constexpr List<AttributeSpec, 16> conv_attributes = {
    {"auto_pad", AttributeKind::text}, {"dilations", AttributeKind::integers},
    {"group", AttributeKind::integer}, {"kernel_shape", AttributeKind::integers},
    {"pads", AttributeKind::integers}, {"strides", AttributeKind::integers}};

/// The form of a convolution with weights in input 1, a bias in 2 and perhaps a residual in 3.
FormSpec conv_form(const NodeTypes& n);

}  // namespace longshore::ops
