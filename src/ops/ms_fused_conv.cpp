#include "ops/conv.hpp"
#include "ops/fused.hpp"

namespace longshore::ops::op_ms_fused_conv {
extern const OpDef definition;
namespace {

void infer(InferContext& c) {
  Activation activation;
  if (const Status s = Activation::from(c.attributes(), activation); !s.ok()) c.fail(s.text());
  infer_conv_as(c, 0, 1, c.input(0).dtype);
}
std::size_t scratch(const ScratchContext& c) noexcept {
  return conv_scratch(c.attributes, c.inputs[0], c.inputs[1]);
}
Status eval(EvalContext& c) noexcept {
  Activation activation;
  LONGSHORE_TRY(Activation::from(c.attributes, activation));
  return eval_conv(c, activation);
}
Status eval_codes(EvalContext& c) noexcept {
  Activation activation;
  LONGSHORE_TRY(Activation::from(c.attributes, activation));
  return eval_conv_quantised(c, definition, activation);
}
void facts(const NodeTypes& n, Facts& f) { conv_facts_as(n, 1, f); }
std::int64_t macs(const NodeTypes& n) { return conv_macs_as(n, 1); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "FusedConv",
    .domain = "com.microsoft",
    .doc =
        "activation(Conv(X, W, B) + Z). Activations: Relu, Clip, LeakyRelu, Sigmoid, Tanh, "
        "HardSigmoid.",
    .since = 1,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"W", type_set::float_types, "T", Presence::required, InputRole::weights},
                          {"B", type_set::float_types, "T", Presence::optional, InputRole::bias},
                          {"Z", type_set::float_types, "T", Presence::optional,
                           InputRole::residual}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"activation", AttributeKind::text},
                              {"activation_params", AttributeKind::reals},
                              {"auto_pad", AttributeKind::text},
                              {"dilations", AttributeKind::integers},
                              {"group", AttributeKind::integer},
                              {"kernel_shape", AttributeKind::integers},
                              {"pads", AttributeKind::integers},
                              {"strides", AttributeKind::integers}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .eval_quantised = eval_codes,
    .facts = facts,
    .macs = macs,
    .quant = Quant::integer,
    .channels = Channels::convolution,
    .weight_axis = [](const NodeTypes&) { return 0; },
    .fused =
        [](const NodeTypes& n) {
          return std::string_view(has_no_activation(n) ? "com.microsoft.FusedConv" : "");
        },
    .to_integer = [](Node& n, Rewriter& r) { split_fused(n, "Conv", r); },
    .to_standard = [](Node& n, Rewriter& r) { take_apart(n, "Conv", r); },
    .form = conv_form,
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples =
        {"(x: f32[1,2,5,5], w: f32[3,2,3,3], b: f32[3], z: f32[1,3,3,3]) { y = "
         "com.microsoft.FusedConv(x, w, "
         "b, z, activation=\"Relu\") return y }",
         "(x: i8[1,2,5,5] q(0.1, 3), w: i8[2,1,3,3] q(0.02, 0)) { y: i8[1,2,3,3] q(0.02, -128) = "
         "com.microsoft.FusedConv(x, w, group=2, activation=\"Clip\", activation_params=[0.0,6.0]) "
         "return y }"},
};

}  // namespace longshore::ops::op_ms_fused_conv
