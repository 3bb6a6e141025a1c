#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore::ops::op_ms_fast_gelu {
namespace {

void normalise(Node& n, int, Rewriter& r) {
  if (n.input(1) != no_value)
    n.inputs = {r.before("Add", n.inputs)};
  else
    n.inputs.resize(1);
  n.op = &op_named("Gelu");
  n.attributes.set("approximate", std::string("tanh"));
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "FastGelu",
    .domain = "com.microsoft",
    .doc = "The tanh form of Gelu(x + bias): Add and Gelu of ONNX replace it on import.",
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"bias", type_set::float_types, "T", Presence::optional}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_ms_fast_gelu
