#include "ops/pool.hpp"

namespace longshore::ops::op_global_max_pool {
namespace {

template <class A>
struct Most {
  explicit Most(const Attributes&) {}
  void add(A x) {
    if (x > most || x != x) most = x;  // a NaN stays: nothing is greater
  }
  A done(std::int64_t) const { return most; }
  A most = -std::numeric_limits<A>::infinity();
};

// The greatest code is the code of the greatest value.
Status eval_codes(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, global_pool_shape(x.shape), y));
  const std::int64_t planes = y.elements(), area = x.shape.product(2, x.shape.rank);
  for (std::int64_t p = 0; p < planes; p++) {
    std::int32_t most = code_range(x.dtype).lowest;
    for (std::int64_t i = 0; i < area; i++) most = std::max(most, load_code(x, p * area + i));
    store_code(y, p, most);
  }
  return {};
}

// One window over the whole plane.
FormSpec form(const NodeTypes& n) {
  FormSpec s{.form = "pool", .function = "max"};
  const std::optional<Shape> x = n.input(0).shape();
  for (int i = 2; x && i < x->rank && x->rank <= 5; i++)
    s.window.in[5 - x->rank + i - 2] = s.window.kernel[5 - x->rank + i - 2] = (*x)[i];
  return s;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GlobalMaxPool",
    .doc = "The maximum of each channel; NaN wins.",
    .since = 22,
    .schema = {.inputs = {{"X", pool_types, "T"}}, .outputs = {{"Y", pool_types, "T"}}},
    .infer = infer_global_pool,
    .eval = eval_global_pool<Most>,
    .eval_quantised = eval_codes,
    .facts = global_pool_facts,
    .quant = Quant::same,
    .channels = Channels::scales,
    .form = form,
    .examples =
        {"(x: f32[N,3,4,5]) { y = GlobalMaxPool(x) return y }",
         "(x: i8[1,2,4,4] q(0.5, -3)) { y: i8[1,2,1,1] q(0.5, -3) = GlobalMaxPool(x) return y }"},
};

}  // namespace longshore::ops::op_global_max_pool
