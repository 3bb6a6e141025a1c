#include "ops/reduce.hpp"

namespace longshore::ops::op_reduce_prod {
namespace {

template <class A, class T>
struct ReduceProdState {
  A value = A{1};
  void add(A x) { value = wrapping_multiply(value, x); }
  auto result(std::int64_t, Status&) const { return value; }
};

}  // namespace

extern constinit const OpDef definition = {
    .name = "ReduceProd",
    .doc = "The product over the axes; 1 for no elements. Integers wrap around.",
    .since = 18,
    .schema = {.inputs = {{"data", reduce_types, "T"},
                          {"axes", type_set::int64, {}, Presence::optional}},
               .outputs = {{"reduced", reduce_types, "T"}},
               .attributes = {{"keepdims"}, {"noop_with_empty_axes"}}},
    .normalise = normalise_axes<18>,
    .infer = infer_reduction,
    .eval = eval_reduce<ReduceTypes, ReduceProdState>,
    .facts = facts_reduce,
    .examples = {"(x: f32[2,3,4]) { y = ReduceProd(x, i64[1]{-1}) return y }",
                 "(x: i32[2,3,4]) { y = ReduceProd(x, i64[2]{0,2}, keepdims=0) return y }"},
};

}  // namespace longshore::ops::op_reduce_prod
