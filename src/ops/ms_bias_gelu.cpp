#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore::ops::op_ms_bias_gelu {
namespace {

void normalise(Node& n, int, Rewriter& r) {
  n.inputs = {r.before("Add", n.inputs)};
  n.op = &op_named("Gelu");
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "BiasGelu",
    .domain = "com.microsoft",
    .doc = "Gelu(x + bias): Add and Gelu of ONNX replace it on import.",
    .schema = {.inputs = {{"A", type_set::float_types, "T"}, {"B", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_ms_bias_gelu
