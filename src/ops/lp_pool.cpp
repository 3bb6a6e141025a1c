#include "ops/pool.hpp"

namespace longshore::ops::op_lp_pool {
namespace {

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const std::int64_t power = c.attributes.integer("p", 2);
  if (power < 1) return Status::error(Code::bad_model, "p is %lld", static_cast<long long>(power));
  Window w;
  LONGSHORE_TRY(pool_window(c.attributes, x.shape, w));
  MutableView y;
  LONGSHORE_TRY(c.output(0, window_shape(x.shape, x.shape[1], w), y));
  visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t p = 0, planes = x.shape[0] * x.shape[1]; p < planes; p++)
      for_each_window(
          w, [&](std::int64_t at, const std::int64_t(&o)[3], const IndexRange(&taps)[3]) {
            double sum = 0;
            for_each_tap(w, o, taps, [&](std::int64_t i) {
              sum += lp_term(static_cast<double>(x.as<T>()[p * w.in_plane() + i]), power);
            });
            y.as<T>()[p * w.out_plane() + at] = static_cast<T>(lp_root(sum, power));
          });
  });
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LpPool",
    .doc = "The p-norm of each window.",
    .since = 22,
    .schema = {.inputs = {{"X", pool_types, "T"}},
               .outputs = {{"Y", pool_types, "T"}},
               .attributes = {{"auto_pad", AttributeKind::text},
                              {"ceil_mode", AttributeKind::integer},
                              {"dilations", AttributeKind::integers},
                              {"kernel_shape", AttributeKind::integers, true},
                              {"p", AttributeKind::integer},
                              {"pads", AttributeKind::integers},
                              {"strides", AttributeKind::integers}}},
    .infer = infer_pool,
    .eval = eval,
    .facts = pool_facts,
    .examples =
        {"(x: f32[N,2,7,5]) { y = LpPool(x, kernel_shape=[3,2], p=3, pads=[1,0,0,1]) return y }"},
};

}  // namespace longshore::ops::op_lp_pool
