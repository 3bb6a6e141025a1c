#include "tensor/convert.hpp"
#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_clip {
namespace {

/// Before opset 11 the bounds were attributes.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset >= 11) return;
  const DType found = r.graph()[n.inputs[0]].type.dtype;
  const DType dtype = found == DType::undefined ? DType::f32 : found;
  const auto bound = [&](std::string_view name, std::size_t input) {
    const Attribute* a = n.attributes.find(name);
    if (!a) return;
    n.inputs.resize(std::max(n.inputs.size(), input + 1), no_value);
    n.inputs[input] = r.constant(make_number(dtype, n.attributes.real(name)));
    n.attributes.erase(name);
  };
  bound("min", 1);
  bound("max", 2);
  n.attributes.erase("consumed_inputs");
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &low = c.input(1), &high = c.input(2);
  for (const TensorView* bound : {&low, &high})
    if (bound->present() && (bound->elements() != 1 || bound->dtype != x.dtype))
      return Status::error(Code::bad_argument, "a bound of Clip is one number of the input's type");
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const bool known = visit_type(NumberTypes{}, x.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C lowest = low.present() ? static_cast<C>(low.as<T>()[0]) : C{};
    const C highest = high.present() ? static_cast<C>(high.as<T>()[0]) : C{};
    for (std::int64_t i = 0, n = x.elements(); i < n; i++) {
      auto value = static_cast<C>(x.as<T>()[i]);
      if (low.present()) value = larger(value, lowest);
      if (high.present()) value = smaller(value, highest);
      y.as<T>()[i] = static_cast<T>(value);
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

/// A clamp where the bounds are constants in order.
std::optional<Activation> activation(const NodeTypes& n) {
  Activation a{.kind = Activation::Kind::clamp};
  for (std::size_t i = 1; i < n.node.inputs.size(); i++) {
    if (n.node.input(i) == no_value) continue;
    const Tensor* t = n.graph.constant(n.node.input(i));
    if (!t || t->dtype != DType::f32 || t->elements() != 1) return {};
    (i == 1 ? a.low : a.high) = t->values<float>()[0];
  }
  if (!(a.low <= a.high)) return {};
  return a;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Clip",
    .doc = "y = min(max(x, min), max); either bound may be absent. NaN stays NaN.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::numbers, "T"},
                          {"min", type_set::numbers, "T", Presence::optional, InputRole::bound},
                          {"max", type_set::numbers, "T", Presence::optional, InputRole::bound}},
               .outputs = {{"output", type_set::numbers, "T"}}},
    .normalise = normalise,
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .activation = activation,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Clip(x, f32[]{0}, f32[]{6}) return y }",
                 "(x: i8[6]) { y = Clip(x, _, i8[]{3}) return y }",
                 "(x: f16[4], a: f16[]) { y = Clip(x, a) return y }"},
};

}  // namespace longshore::ops::op_clip
