#include "ops/codes.hpp"
#include "ops/pool.hpp"

namespace longshore::ops::op_global_average_pool {
extern const OpDef definition;
namespace {

template <class A>
struct Mean {
  explicit Mean(const Attributes&) {}
  void add(A x) { sum += x; }
  A done(std::int64_t n) const { return sum / static_cast<A>(n); }  // of nothing: NaN
  A sum = 0;
};

// acc = sum(x - zero_x); y = requantise(acc, scale_x * 1 / (scale_y * area)).
Status eval_codes(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const QuantView from = x.quant, to = c.output_quant(0);
  if (from.count != 1 || to.count != 1) return eval_dequantised(definition, c);
  MutableView y;
  LONGSHORE_TRY(c.output(0, global_pool_shape(x.shape), y));
  const std::int64_t planes = y.elements(), area = x.shape.product(2, x.shape.rank);
  const CodeRange codes = code_range(y.dtype);
  const Multiplier m = make_multiplier(
      from.scale[0], 1.0f, to.scale[0] * static_cast<float>(std::max<std::int64_t>(1, area)));
  for (std::int64_t p = 0; p < planes; p++) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < area; i++) sum += load_code(x, p * area + i) - from.zero_point[0];
    store_code(y, p, requantise_sum(sum, x.dtype, m, to.zero_point[0], codes, c.rounding));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GlobalAveragePool",
    .doc = "The mean of each channel: N, C, spatial dims to N, C, 1, ...",
    .since = 22,
    .schema = {.inputs = {{"X", pool_types, "T"}}, .outputs = {{"Y", pool_types, "T"}}},
    .infer = infer_global_pool,
    .eval = eval_global_pool<Mean>,
    .eval_quantised = eval_codes,
    .facts = global_pool_facts,
    .quant = Quant::integer,
    .channels = Channels::scales,
    .form =
        [](const NodeTypes&) { return FormSpec{.form = "reduce", .function = "mean", .axis = 1}; },
    .examples = {"(x: f32[N,3,4,5]) { y = GlobalAveragePool(x) return y }",
                 "(x: f16[1,2,3]) { y = GlobalAveragePool(x) return y }",
                 "(x: i8[1,2,4,4] q(0.5, -3)) { y: i8[1,2,1,1] q(0.1, 5) = GlobalAveragePool(x) "
                 "return y }"},
};

}  // namespace longshore::ops::op_global_average_pool
