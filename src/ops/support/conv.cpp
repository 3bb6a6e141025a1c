#include "ops/conv.hpp"

namespace longshore::ops {

std::size_t conv_scratch(const Attributes& a, const TensorView& x, const TensorView& w) noexcept {
  ConvShape s;
  if (!conv_shape(a, x.shape, w.shape, s).ok()) return 0;  // eval says why
  const bool wide = x.dtype == DType::f64 || wide_codes(x.dtype) || wide_codes(w.dtype);
  return wide ? ConvScratch<double>::bytes(s) : ConvScratch<float>::bytes(s);
}

Status eval_conv(EvalContext& c, const Activation& activation) noexcept {
  ConvShape s;
  LONGSHORE_TRY(conv_shape(c.attributes, c.input(0).shape, c.input(1).shape, s));
  return c.input(0).dtype == DType::f64 ? eval_conv_as<double>(c, s, activation)
                                        : eval_conv_as<float>(c, s, activation);
}

Status eval_conv_quantised(EvalContext& c, const OpDef& op, const Activation& activation) noexcept {
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

void infer_conv_as(InferContext& c, std::size_t x_at, std::size_t w_at, DType dtype) {
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

void conv_facts_as(const NodeTypes& n, std::size_t w_at, Facts& facts) {
  const std::optional<Shape> w = n.input(w_at).shape();
  if (!w || w->rank < 3) return;
  window_facts(n, std::span(w->dims + 2, static_cast<std::size_t>(w->rank - 2)), facts);
  facts["groups"] = n.node.attributes.integer("group", 1);
  facts["out_channels"] = (*w)[0];
}

std::int64_t conv_macs_as(const NodeTypes& n, std::size_t w_at) {
  const std::optional<Shape> w = n.input(w_at).shape(), y = n.output().shape();
  return w && y ? y->elements() * w->product(1, w->rank) : 0;
}

FormSpec conv_form(const NodeTypes& n) {
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
