#include "ops/reduce.hpp"

namespace longshore::ops::op_reduce_log_sum_exp {
namespace {

/// value + log(sum) is the answer so far; value is the largest x.
template <class A, class T>
struct ReduceLogSumExpState {
  A value = -std::numeric_limits<A>::infinity(), sum = 0;
  void add(A x) {
    if (x == value) {  // also where both are infinite
      sum += 1;
    } else if (x > value) {
      sum = sum * std::exp(value - x) + 1;
      value = x;
    } else {
      sum += std::exp(x - value);  // NaN stays NaN
    }
  }
  A result(std::int64_t, Status&) const { return value + std::log(sum); }
};

}  // namespace

extern constinit const OpDef definition = {
    .name = "ReduceLogSumExp",
    .doc = "The logarithm of the sum of the exponentials over the axes, without overflow.",
    .since = 18,
    .schema = {.inputs = {{"data", reduce_types, "T"},
                          {"axes", type_set::int64, {}, Presence::optional}},
               .outputs = {{"reduced", reduce_types, "T"}},
               .attributes = {{"keepdims"}, {"noop_with_empty_axes"}}},
    .normalise = normalise_axes<18>,
    .infer = infer_reduction,
    .eval = eval_reduce<ReduceTypes, ReduceLogSumExpState, true>,
    .facts = facts_reduce,
    .examples = {"(x: f32[2,3,4]) { y = ReduceLogSumExp(x, i64[1]{-1}) return y }",
                 "(x: i32[2,3,4]) { y = ReduceLogSumExp(x, i64[2]{0,2}, keepdims=0) return y }"},
};

}  // namespace longshore::ops::op_reduce_log_sum_exp
