#include "ops/movement.hpp"

namespace longshore::ops::op_upsample {
namespace {

// Upsample 9 is Resize with asymmetric coordinates; before 9, scales are an attribute.
void normalise(Node& n, int, Rewriter& r) {
  ValueId scales = n.input(1);
  if (const std::span<const float> given = n.attributes.reals("scales"); !given.empty())
    scales = r.constant(make_floats({static_cast<std::int64_t>(given.size())}, given));
  n.inputs = {n.input(0), no_value, scales};
  const std::string_view mode = n.attributes.text("mode", "nearest");
  Attributes attributes;
  attributes.set("mode", std::string(mode == "bilinear" ? "linear" : mode));
  attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.set("nearest_mode", std::string("floor"));
  n.attributes = attributes;
  n.op = &op_named("Resize");
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Upsample",
    .doc = "Enlarges by scales; becomes Resize on import.",
    .since = 10,
    .schema = {.inputs = {{"X", type_set::any, "T"},
                          {"scales", types(DType::f32), {}, Presence::optional}},
               .outputs = {{"Y", type_set::any, "T"}},
               .attributes = {{"mode", AttributeKind::text}, {"scales", AttributeKind::reals}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_upsample
