#include "ops/reduce.hpp"
#include "ir/quantised.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops::op_reduce_mean {

extern const OpDef definition;

namespace {

template <class A, class T>
struct ReduceMeanState {
  A value = A{0};
  void add(A x) { value = wrapping_add(value, x); }
  A result(std::int64_t count, Status& status) const {
    if constexpr (std::is_integral_v<A>)
      if (count == 0) {
        status = Status::error(Code::arithmetic, "the mean of no integers");
        return A{0};
      }
    return value / static_cast<A>(count);
  }
};

/// y = requantise(sum(x - zero_x), scale_x / (scale_y * count), zero_y), as docs/numbers.md has it.
Status eval_quantised(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const QuantView &from = x.quant, to = c.output_quant(0);
  const bool integers = from.count == 1 && to.count == 1 && size_bytes(x.dtype) == 1;
  if (!integers) return eval_dequantised(definition, c);
  Reduction r;
  LONGSHORE_TRY(reduction_of(c, r));
  if (r.count == 0) return eval_dequantised(definition, c);
  MutableView y;
  LONGSHORE_TRY(c.output(0, r.output, y));
  const auto [lowest, highest] = code_range(y.dtype);
  const Multiplier m =
      make_multiplier(from.scale[0], 1.0f, to.scale[0] * static_cast<float>(r.count));
  const Shape outer_strides[1] = {r.kept_strides}, inner_strides[1] = {r.summed_strides};
  Walk<1> outer(r.kept, outer_strides);
  for (std::int64_t i = 0, n = y.elements(); i < n; i++, outer.next()) {
    std::uint32_t sum = 0;  // wraps around, as int32 hardware does
    Walk<1> inner(r.summed, inner_strides);
    for (std::int64_t j = 0; j < r.count; j++, inner.next())
      sum += static_cast<std::uint32_t>(load_code(x, outer.offset(0) + inner.offset(0)) -
                                        from.zero_point[0]);
    store_code(y, i,
               requantise(static_cast<std::int32_t>(sum), m, to.zero_point[0], lowest, highest,
                          c.rounding));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ReduceMean",
    .doc = "The mean over the axes.",
    .since = 18,
    .schema = {.inputs = {{"data", reduce_types, "T"},
                          {"axes", type_set::int64, {}, Presence::optional, InputRole::parameter}},
               .outputs = {{"reduced", reduce_types, "T"}},
               .attributes = {{"keepdims"}, {"noop_with_empty_axes"}}},
    .normalise = normalise_axes<18>,
    .infer = infer_reduction,
    .eval = eval_reduce<ReduceTypes, ReduceMeanState>,
    .eval_quantised = eval_quantised,
    .facts = facts_reduce,
    .quant = Quant::integer,
    .form = [](const NodeTypes& n) { return reduce_form(n, "mean"); },
    .examples = {"(x: f32[2,3,4]) { y = ReduceMean(x, i64[1]{-1}) return y }",
                 "(x: i32[2,3,4]) { y = ReduceMean(x, i64[2]{0,2}, keepdims=0) return y }",
                 "(x: i8[1,4,5,5] q(0.5, 3)) { y: i8[1,4,1,1] q(0.25, -7) = ReduceMean(x, "
                 "i64[2]{2,3}) return y }"},
};

}  // namespace longshore::ops::op_reduce_mean
