#include "ops/activation.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_relu {

extern constinit const OpDef definition = {
    .name = "Relu",
    .doc = "y = max(x, 0); NaN stays NaN.",
    .since = 14,
    .schema = {.inputs = {{"X", type_set::float_types | type_set::signed_types, "T"}},
               .outputs = {{"Y", type_set::any, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<NumberTypes, [](auto x) { return x < 0 ? decltype(x){0} : x; }>,
    .quant = Quant::table,
    .channels = Channels::scales,
    .activation = activation_with_attributes<Activation{.kind = Activation::Kind::clamp, .low = 0}>,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[7]) { y = Relu(x) return y }", "(x: i32[2,3]) { y = Relu(x) return y }"},
};

}  // namespace longshore::ops::op_relu
