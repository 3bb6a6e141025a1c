#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore::ops::op_ms_gelu {
namespace {

/// The same as ONNX has since opset 20.
void normalise(Node& n, int, Rewriter&) { n.op = &op_named("Gelu"); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "Gelu",
    .domain = "com.microsoft",
    .doc = "Gelu of ONNX, which replaces it on import.",
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_ms_gelu
