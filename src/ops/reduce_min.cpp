#include "ops/reduce.hpp"

namespace longshore::ops::op_reduce_min {
namespace {

using Types = TypeList<float, double, Float16, BFloat16, std::int32_t, std::int64_t, std::uint32_t,
                       std::uint64_t, std::int8_t, std::uint8_t, std::int16_t, Bool8>;

template <class A, class T>
struct ReduceMinState {
  /// The answer for no elements.
  static A start() {
    using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<A>, T, A>>;
    if constexpr (std::is_same_v<T, Bool8>)
      return A{1};
    else
      return Limits::has_infinity ? Limits::infinity() : static_cast<A>(Limits::max());
  }
  A value = start();
  void add(A x) { value = smaller(value, x); }
  A result(std::int64_t, Status&) const { return value; }
};

}  // namespace

extern constinit const OpDef definition = {
    .name = "ReduceMin",
    .doc = "The smallest over the axes; NaN where any is NaN. Booleans count as 0 and 1.",
    .since = 20,
    .schema = {.inputs = {{"data", reduce_types | types(DType::i8, DType::u8, DType::boolean), "T"},
                          {"axes", type_set::int64, {}, Presence::optional, InputRole::parameter}},
               .outputs = {{"reduced", reduce_types | types(DType::i8, DType::u8, DType::boolean),
                            "T"}},
               .attributes = {{"keepdims"}, {"noop_with_empty_axes"}}},
    .normalise = normalise_axes<18>,
    .infer = infer_reduction,
    .eval = eval_reduce<Types, ReduceMinState>,
    .facts = facts_reduce,
    .quant = Quant::same,
    .examples = {"(x: f32[2,3,4]) { y = ReduceMin(x, i64[1]{-1}) return y }",
                 "(x: u8[2,3,4]) { y = ReduceMin(x, i64[2]{0,2}, keepdims=0) return y }",
                 "(x: bool[2,3]) { y = ReduceMin(x) return y }"},
};

}  // namespace longshore::ops::op_reduce_min
