#include "ops/conv.hpp"

namespace longshore::ops::op_conv {
extern const OpDef definition;
namespace {

void infer(InferContext& c) { infer_conv_as(c, 0, 1, c.input(0).dtype); }
std::size_t scratch(const ScratchContext& c) noexcept {
  return conv_scratch(c.attributes, c.inputs[0], c.inputs[1]);
}
Status eval(EvalContext& c) noexcept { return eval_conv(c, {}); }
Status eval_codes(EvalContext& c) noexcept { return eval_conv_quantised(c, definition, {}); }
void facts(const NodeTypes& n, Facts& f) { conv_facts_as(n, 1, f); }
std::int64_t macs(const NodeTypes& n) { return conv_macs_as(n, 1); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "Conv",
    .doc =
        "Convolution over one to three spatial dims, with padding, strides, dilations and groups.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"W", type_set::float_types, "T", Presence::required, InputRole::weights},
                          {"B", type_set::float_types, "T", Presence::optional, InputRole::bias}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = conv_attributes},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .eval_quantised = eval_codes,
    .facts = facts,
    .macs = macs,
    .quant = Quant::integer,
    .channels = Channels::convolution,
    .weight_axis = [](const NodeTypes&) { return 0; },
    .fused = [](const NodeTypes&) { return std::string_view("com.microsoft.FusedConv"); },
    .form = conv_form,
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples = {"(x: f32[N,4,7,6], w: f32[6,2,3,2], b: f32[6]) { y = Conv(x, w, b, group=2, "
                 "pads=[1,0,2,1], "
                 "strides=[2,1], dilations=[1,2]) return y }",
                 "(x: f32[1,3,9], w: f32[2,3,3]) { y = Conv(x, w, auto_pad=\"SAME_UPPER\", "
                 "strides=[2]) return y }",
                 "(x: f16[1,2,4,4,5], w: f16[2,1,2,2,2]) { y = Conv(x, w, group=2) return y }",
                 "(x: i8[1,2,5,5] q(0.1, 3), w: i8[4,2,3,3] q([0.02,0.03,0.04,0.05], [0,0,0,0], "
                 "axis=0), b: i32[4] "
                 "q([0.002,0.003,0.004,0.005], [0,0,0,0], axis=0)) { y: i8[1,4,5,5] q(0.2, -5) = "
                 "Conv(x, w, b, "
                 "pads=[1,1,1,1]) return y }"},
};

}  // namespace longshore::ops::op_conv
