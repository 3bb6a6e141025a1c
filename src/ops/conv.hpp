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
inline std::size_t conv_scratch(const Attributes& a, const TensorView& x,
                                const TensorView& w) noexcept {
  ConvShape s;
  if (!conv_shape(a, x.shape, w.shape, s).ok()) return 0;  // eval says why
  const bool wide = x.dtype == DType::f64 || wide_codes(x.dtype) || wide_codes(w.dtype);
  return wide ? ConvScratch<double>::bytes(s) : ConvScratch<float>::bytes(s);
}

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

inline Status eval_conv(EvalContext& c, const Activation& activation) noexcept {
  ConvShape s;
  LONGSHORE_TRY(conv_shape(c.attributes, c.input(0).shape, c.input(1).shape, s));
  return c.input(0).dtype == DType::f64 ? eval_conv_as<double>(c, s, activation)
                                        : eval_conv_as<float>(c, s, activation);
}

/// The integer formula of docs/numbers.md; other mixtures of types take the general way.
inline Status eval_conv_quantised(EvalContext& c, const OpDef& op,
                                  const Activation& activation) noexcept {
  const TensorView &x = c.input(0), &w = c.input(1), &bias = c.input(2);
  const QuantView to = c.output_quant(0);
  const bool integer =
      x.quant.count == 1 && to.count == 1 && activation.narrows() && !c.has(3) &&
      visit_type(FactorTypes{}, x.dtype, []<class T>() {}) &&
      visit_type(FactorTypes{}, w.dtype, []<class T>() {}) &&
      (w.quant.count == 1 || w.quant.along(0)) &&
      (!bias.present() || (bias.dtype == DType::i32 && bias.elements() == w.shape[0]));
  if (!integer) return eval_dequantised(op, c);
  ConvShape s;
  LONGSHORE_TRY(conv_shape(c.attributes, x.shape, w.shape, s));
  MutableView y;
  LONGSHORE_TRY(c.output(0, s.out, y));
  const CodeRange codes = code_range(y.dtype);
  std::int32_t low = codes.lowest, high = codes.highest;  // no binding: clang 14 cannot capture one
  activation.narrow(to.scale[0], to.zero_point[0], low, high);
  const std::int64_t plane = s.window.out_plane();
  const auto channel = [&](std::int64_t m) { return w.quant.count == 1 ? 0 : m; };
  const auto run = [&]<class Unsigned>(Unsigned) {
    using Sum = std::make_signed_t<Unsigned>;
    return run_conv<Unsigned>(
        c, s, x, w, x.quant.zero_point[0],
        [&](std::int64_t m) { return w.quant.zero_point[channel(m)]; },
        [&](std::int64_t n, std::int64_t m, const Unsigned* acc) {
          const Multiplier multiplier =
              make_multiplier(x.quant.scale[0], w.quant.scale[channel(m)], to.scale[0]);
          const auto b =
              static_cast<Unsigned>(bias.present() ? Sum{bias.as<std::int32_t>()[m]} : Sum{0});
          const std::int64_t start = (n * w.shape[0] + m) * plane;
          for (std::int64_t i = 0; i < plane; i++)
            store_code(y, start + i,
                       requantise(static_cast<Sum>(acc[i] + b), multiplier, to.zero_point[0], low,
                                  high, c.rounding));
        });
  };
  return wide_codes(x.dtype) || wide_codes(w.dtype) ? run(std::uint64_t{}) : run(std::uint32_t{});
}

/// Inference of the family: x and w are the input numbers of data and weights.
inline void infer_conv_as(InferContext& c, std::size_t x_at, std::size_t w_at, DType dtype) {
  const TensorType x = c.input(x_at), w = c.input(w_at);
  const std::span<const std::int64_t> given = c.attributes().integers("kernel_shape");
  if (!x.ranked) {
    c.output(0, w.ranked ? unknown_dims(dtype, w.rank()) : TensorType::unranked(dtype));
    return;
  }
  Dims kernel(given.begin(), given.end()), out = {x.dims.empty() ? Dim() : x.dims[0], Dim()};
  if (w.ranked) {
    if (w.rank() != x.rank())
      c.fail("its input has rank " + std::to_string(x.rank()) + ", its weights " +
             std::to_string(w.rank()));
    if (w.rank() < 3)
      c.fail("its input has rank " + std::to_string(x.rank()) + "; rank 3, 4 or 5 is supported");
    kernel.assign(w.dims.begin() + 2, w.dims.end());
    out[1] = w.dims[0];
  }
  if (kernel.empty()) kernel.resize(static_cast<std::size_t>(std::max(0, x.rank() - 2)));
  const std::optional<Shape> known_x = x.shape(), known_w = w.shape();
  if (known_x && known_w) {
    ConvShape s;
    if (const Status status = conv_shape(c.attributes(), *known_x, *known_w, s); !status.ok())
      c.fail(status.text());
  }
  const Dims spatial = infer_window(c, x, kernel);
  out.insert(out.end(), spatial.begin(), spatial.end());
  c.output(0, {dtype, out});
}

inline void conv_facts_as(const NodeTypes& n, std::size_t w_at, Facts& facts) {
  const std::optional<Shape> w = n.input(w_at).shape();
  if (!w || w->rank < 3) return;
  window_facts(n, std::span(w->dims + 2, static_cast<std::size_t>(w->rank - 2)), facts);
  facts["groups"] = n.node.attributes.integer("group", 1);
  facts["out_channels"] = (*w)[0];
}

inline std::int64_t conv_macs_as(const NodeTypes& n, std::size_t w_at) {
  const std::optional<Shape> w = n.input(w_at).shape(), y = n.output().shape();
  return w && y ? y->elements() * w->product(1, w->rank) : 0;
}

inline constexpr List<AttributeSpec, 16> conv_attributes = {
    {"auto_pad", AttributeKind::text}, {"dilations", AttributeKind::integers},
    {"group", AttributeKind::integer}, {"kernel_shape", AttributeKind::integers},
    {"pads", AttributeKind::integers}, {"strides", AttributeKind::integers}};

/// The form of a convolution with weights in input 1, a bias in 2 and perhaps a residual in 3.
inline FormSpec conv_form(const NodeTypes& n) {
  FormSpec s{.form = "mac", .weights = 1};
  if (n.node.input(2) != no_value) s.bias = 2;
  if (n.node.input(3) != no_value) s.residual = 3;
  s.groups = std::max<std::int64_t>(n.node.attributes.integer("group", 1), 1);
  if (const Status known = Activation::from(n.node.attributes, s.activation); !known.ok())
    s.refuse("activation", std::string(n.node.attributes.text("activation")), "one that is known");
  const std::optional<Shape> x = n.input(0).shape(), w = n.input(1).shape();
  if (x && w && w->rank > 2)
    (void)make_window(n.node.attributes, *x,
                      std::span(w->dims + 2, static_cast<std::size_t>(w->rank - 2)), s.window);
  return s;
}

}  // namespace longshore::ops
