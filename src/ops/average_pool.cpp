#include "ops/codes.hpp"
#include "ops/pool.hpp"

namespace longshore::ops::op_average_pool {
extern const OpDef definition;
namespace {

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const bool padding = c.attributes.integer("count_include_pad", 0) != 0;
  Window w;
  LONGSHORE_TRY(pool_window(c.attributes, x.shape, w));
  MutableView y;
  LONGSHORE_TRY(c.output(0, window_shape(x.shape, x.shape[1], w), y));
  visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t p = 0, planes = x.shape[0] * x.shape[1]; p < planes; p++) {
      const T* from = x.as<T>() + p * w.in_plane();
      for_each_window(w, [&](std::int64_t at, const std::int64_t(&o)[3],
                             const IndexRange(&taps)[3]) {
        Compute<T> sum = 0;
        for_each_tap(w, o, taps, [&](std::int64_t i) { sum += static_cast<Compute<T>>(from[i]); });
        const std::int64_t count = average_count(w, o, taps, padding);
        y.as<T>()[p * w.out_plane() + at] =
            static_cast<T>(count > 0 ? sum / static_cast<Compute<T>>(count) : Compute<T>{0});
      });
    }
  });
  return {};
}

// acc = sum(x - zero_x); y = requantise(acc, scale_x * 1 / (scale_y * count)).
Status eval_codes(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const QuantView from = x.quant, to = c.output_quant(0);
  if (from.count != 1 || to.count != 1) return eval_dequantised(definition, c);
  const bool padding = c.attributes.integer("count_include_pad", 0) != 0;
  Window w;
  LONGSHORE_TRY(pool_window(c.attributes, x.shape, w));
  MutableView y;
  LONGSHORE_TRY(c.output(0, window_shape(x.shape, x.shape[1], w), y));
  const CodeRange codes = code_range(y.dtype);
  for (std::int64_t p = 0, planes = x.shape[0] * x.shape[1]; p < planes; p++)
    for_each_window(w, [&](std::int64_t at, const std::int64_t(&o)[3], const IndexRange(&taps)[3]) {
      std::int64_t sum = 0;
      for_each_tap(w, o, taps, [&](std::int64_t i) {
        sum += load_code(x, p * w.in_plane() + i) - from.zero_point[0];
      });
      const std::int64_t count = std::max<std::int64_t>(1, average_count(w, o, taps, padding));
      const Multiplier m =
          make_multiplier(from.scale[0], 1.0f, to.scale[0] * static_cast<float>(count));
      store_code(y, p * w.out_plane() + at,
                 requantise_sum(sum, x.dtype, m, to.zero_point[0], codes, c.rounding));
    });
  return {};
}

FormSpec form(const NodeTypes& n) {
  FormSpec s = pool_form(n, "average");
  s.counts_padding = n.node.attributes.integer("count_include_pad", 0) != 0;
  if (s.counts_padding && n.node.attributes.integer("ceil_mode", 0) != 0)
    s.refuse("ceil_mode", "1 with count_include_pad", "0");
  return s;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "AveragePool",
    .doc =
        "The mean of each window: over the elements inside the input, or inside the padded input.",
    .since = 22,
    .schema = {.inputs = {{"X", pool_types, "T"}},
               .outputs = {{"Y", pool_types, "T"}},
               .attributes = {{"auto_pad", AttributeKind::text},
                              {"ceil_mode", AttributeKind::integer},
                              {"count_include_pad", AttributeKind::integer},
                              {"dilations", AttributeKind::integers},
                              {"kernel_shape", AttributeKind::integers, true},
                              {"pads", AttributeKind::integers},
                              {"strides", AttributeKind::integers}}},
    .infer = infer_pool,
    .eval = eval,
    .eval_quantised = eval_codes,
    .facts = pool_facts,
    .quant = Quant::integer,
    .channels = Channels::scales,
    .form = form,
    .examples = {"(x: f32[1,2,7,5]) { y = AveragePool(x, kernel_shape=[3,2], strides=[2,2], "
                 "pads=[1,1,0,0], "
                 "count_include_pad=1, ceil_mode=1) return y }",
                 "(x: f64[1,1,9]) { y = AveragePool(x, kernel_shape=[2], dilations=[3], "
                 "auto_pad=\"SAME_LOWER\") return y }",
                 "(x: i8[1,2,4,4] q(0.5, -3)) { y: i8[1,2,2,2] q(0.4, 5) = AveragePool(x, "
                 "kernel_shape=[3,3]) return y }"},
};

}  // namespace longshore::ops::op_average_pool
