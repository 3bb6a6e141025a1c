#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "tensor/small_float.hpp"

namespace longshore::ops::op_if {
namespace {

/// What is true of both types.
TensorType common(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) return TensorType::unranked(DType::undefined);
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) return TensorType::unranked(a.dtype);
  TensorType out = a;
  for (std::size_t i = 0; i < out.dims.size(); i++)
    if (!out.dims[i].same(b.dims[i])) out.dims[i] = Dim();
  return out;
}

/// The types that a branch gives, or nothing where its dims contradict: such a branch may be one
/// that is never taken, as Silero VAD's are for the other sampling rate. Its run would say so.
std::optional<std::vector<TensorType>> infer_branch(InferContext& c, std::string_view name,
                                                    std::string& why) {
  try {
    return c.infer_subgraph(name, {});
  } catch (const Error& e) {
    if (e.code() != Code::bad_model) throw;
    why = e.what();
    return {};
  }
}

void infer(InferContext& c) {
  std::string why;
  auto yes = infer_branch(c, "then_branch", why), no = infer_branch(c, "else_branch", why);
  if (const Tensor* condition = c.constant(0); condition && condition->elements() == 1)
    (condition->values<Bool8>()[0] ? no : yes).reset();  // only one will run
  if (!yes && !no) fail(Code::bad_model, why);
  if ((yes && yes->size() != c.output_count()) || (no && no->size() != c.output_count()))
    c.fail("its branches and its outputs differ in number");
  for (std::size_t i = 0; i < c.output_count(); i++) {
    if (yes && no) {
      const TensorType &a = (*yes)[i], &b = (*no)[i];
      if (a.dtype != b.dtype && a.dtype != DType::undefined && b.dtype != DType::undefined)
        c.fail("its branches give different element types");
      c.output(i, common(a, b));
    } else {
      const TensorType& known = (yes ? *yes : *no)[i];
      c.output(i, c.constant(0) ? known : TensorType::unranked(known.dtype));
    }
  }
}

Status eval(EvalContext& c) noexcept {
  const TensorView& condition = c.input(0);
  if (condition.elements() != 1)
    return Status::error(Code::bad_argument, "the condition has %lld elements, not 1",
                         static_cast<long long>(condition.elements()));
  TensorView results[16];
  if (c.output_count() > std::size(results))
    return Status::error(Code::unsupported, "If with more than 16 outputs");
  const std::span<TensorView> out(results, c.output_count());
  LONGSHORE_TRY(c.run(condition.as<Bool8>()[0] ? "then_branch" : "else_branch", {}, out));
  for (std::size_t i = 0; i < out.size(); i++) {
    if (!c.wants(i)) continue;
    MutableView y;
    LONGSHORE_TRY(c.output(i, out[i].shape, y));
    if (out[i].bytes() > 0) std::memcpy(y.data, out[i].data, out[i].bytes());
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "If",
    .doc = "The outputs of then_branch where the condition holds, else those of else_branch.",
    .since = 19,
    .schema = {.inputs = {{"cond", type_set::boolean}},
               .outputs = {{"outputs", type_set::any, {}, Presence::variadic}},
               .attributes = {{"then_branch", AttributeKind::graph, true},
                              {"else_branch", AttributeKind::graph, true}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(c: bool[], x: f32[3]) { y = If(c) then_branch=() { a = Relu(x) return a } "
                 "else_branch=() { b = Add(x, x) return b } return y }"},
};

}  // namespace longshore::ops::op_if
