#include "ops/reduce.hpp"

namespace longshore::ops::op_reduce_sum {
namespace {

template <class A, class T>
struct ReduceSumState {
  A value = A{0};
  void add(A x) { value = wrapping_add(value, x); }
  auto result(std::int64_t, Status&) const { return value; }
};

}  // namespace

extern constinit const OpDef definition = {
    .name = "ReduceSum",
    .doc = "The sum over the axes; 0 for no elements. Integers wrap around.",
    .since = 13,
    .schema = {.inputs = {{"data", reduce_types, "T"},
                          {"axes", type_set::int64, {}, Presence::optional, InputRole::parameter}},
               .outputs = {{"reduced", reduce_types, "T"}},
               .attributes = {{"keepdims"}, {"noop_with_empty_axes"}}},
    .normalise = normalise_axes<13>,
    .infer = infer_reduction,
    .eval = eval_reduce<ReduceTypes, ReduceSumState>,
    .facts = facts_reduce,
    .quant = Quant::rescale,
    .form = [](const NodeTypes& n) { return reduce_form(n, "sum"); },
    .examples = {"(x: f32[2,3,4]) { y = ReduceSum(x, i64[1]{-1}) return y }",
                 "(x: i32[2,3,4]) { y = ReduceSum(x, i64[2]{0,2}, keepdims=0) return y }",
                 "(x: f16[3,2]) { y = ReduceSum(x, noop_with_empty_axes=1) return y }",
                 "(x: f32[2,0,3]) { y = ReduceSum(x, i64[1]{1}) return y }"},
};

}  // namespace longshore::ops::op_reduce_sum
