#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore::ops::op_ms_quick_gelu {
namespace {

void normalise(Node& n, int, Rewriter&) {
  n.op = &op_named("Swish");
  n.attributes.set("alpha", n.attributes.real("alpha", 1.702f));
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "QuickGelu",
    .domain = "com.microsoft",
    .doc = "x * sigmoid(alpha * x): Swish of ONNX, which replaces it on import.",
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_ms_quick_gelu
