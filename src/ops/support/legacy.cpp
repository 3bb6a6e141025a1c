#include "ops/legacy.hpp"

namespace longshore::ops {

void unsqueeze_to_axis(Node& n, std::int64_t axis, Rewriter& r) {
  const TensorType &a = r.graph()[n.inputs[0]].type, &b = r.graph()[n.inputs[1]].type;
  if (!a.ranked || !b.ranked)
    fail(Code::unsupported, "node ", describe(n),
         ": its broadcast along an axis needs inputs of known rank");
  if (axis < 0) axis += a.rank();
  const std::int64_t missing = a.rank() - axis - b.rank();
  if (axis < 0 || missing < 0) {
    if (b.rank() == 0 || (b.rank() == 1 && b.dims[0].known() && b.dims[0].value == 1)) return;
    fail(Code::bad_model, "node ", describe(n), ": an input of ", print(b),
         " cannot be broadcast along axis ", axis, " of ", print(a));
  }
  if (missing == 0 || b.rank() == 0) return;
  Ints axes;
  for (std::int64_t i = 0; i < missing; i++) axes.push_back(b.rank() + i);
  n.inputs[1] = r.before("Unsqueeze", {n.inputs[1], r.constant(make_ints(axes))});
}

void legacy_broadcast(Node& n, int opset, Rewriter& r) {
  if (opset >= 7) return;
  if (n.attributes.integer("broadcast") != 0 && n.attributes.has("axis") && n.inputs.size() == 2)
    unsqueeze_to_axis(n, n.attributes.integer("axis"), r);
  n.attributes.erase("broadcast");
  n.attributes.erase("axis");
  n.attributes.erase("consumed_inputs");
}

void attribute_to_input(Node& n, std::string_view name, std::size_t input, Rewriter& r) {
  const Attribute* a = n.attributes.find(name);
  if (!a) return;
  const auto* list = std::get_if<Ints>(&a->value);
  const auto* one = std::get_if<std::int64_t>(&a->value);
  if (!list && !one)
    fail(Code::bad_model, "node ", describe(n), ": its attribute '", name,
         "' is no list of integers");
  const ValueId v = r.constant(list ? make_ints(*list) : make_ints({one, 1}));
  if (n.inputs.size() <= input) n.inputs.resize(input + 1, no_value);
  n.inputs[input] = v;
  n.attributes.erase(name);
}

}  // namespace longshore::ops
