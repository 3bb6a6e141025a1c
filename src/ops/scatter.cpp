#include "ops/movement.hpp"

namespace longshore::ops::op_scatter {
namespace {

void normalise(Node& n, int, Rewriter&) { n.op = &op_named("ScatterElements"); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "Scatter",
    .doc = "The old name of ScatterElements, which it becomes on import.",
    .since = 11,
    .schema = {.inputs = {{"data", type_set::any, "T"},
                          {"indices", type_set::indices},
                          {"updates", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"axis"}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_scatter
