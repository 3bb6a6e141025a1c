#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_equal {
namespace {

using Types =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
             std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, Bool8>;

}  // namespace

extern constinit const OpDef definition = {
    .name = "Equal",
    .doc = "y = (a == b); NaN equals nothing.",
    .since = 19,
    .schema = {.inputs = {{"A", type_set::numbers | type_set::boolean, "T"},
                          {"B", type_set::numbers | type_set::boolean, "T"}},
               .outputs = {{"C", type_set::boolean}}},
    .normalise = legacy_broadcast,
    .infer = infer_broadcast_bool,
    .eval = eval_binary<Types, [](auto a, auto b) { return a == b; }, Bool8>,
    .facts = facts_rank,
    .examples = {"(a: f32[2,3,4], b: f32[3,1]) { y = Equal(a, b) return y }",
                 "(a: bool[4], b: bool[]) { y = Equal(a, b) return y }"},
};

}  // namespace longshore::ops::op_equal
