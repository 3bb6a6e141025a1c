#include "base/error.hpp"
#include "ir/op.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops::op_ms_fused_mat_mul {
namespace {

/// One input with its last two dims swapped, and with its first dim moved behind the batch dims
/// where `batch` says so.
ValueId transposed(const Node& n, std::size_t input, bool last, bool batch, Rewriter& r) {
  const TensorType& t = r.graph()[n.inputs[input]].type;
  if (!last && !batch) return n.inputs[input];
  if (!t.ranked)
    fail(Code::unsupported, "node ", describe(n), ": a transposed operand needs a known rank");
  const auto rank = static_cast<std::int64_t>(t.rank());
  if (rank < 2) return n.inputs[input];
  Ints perm;
  for (std::int64_t i = 0; i < rank; i++) perm.push_back(i);
  if (batch) {  // [a, b..., c] stands for [b..., a, c]
    perm.erase(perm.begin());
    perm.insert(perm.end() - 1, 0);
  }
  if (last) std::swap(perm[perm.size() - 2], perm.back());
  Attributes attributes;
  attributes.set("perm", perm);
  return r.before("Transpose", {n.inputs[input]}, attributes);
}

void normalise(Node& n, int, Rewriter& r) {
  const auto flag = [&](std::string_view name) { return n.attributes.integer(name) != 0; };
  const ValueId a = transposed(n, 0, flag("transA"), flag("transBatchA"), r);
  const ValueId b = transposed(n, 1, flag("transB"), flag("transBatchB"), r);
  const float alpha = n.attributes.real("alpha", 1.0f);
  const DType dtype = r.graph()[n.inputs[0]].type.dtype;
  n.inputs = {a, b};
  n.attributes = {};
  n.op = &op_named("MatMul");
  if (alpha == 1) return;
  r.after(n, "Mul",
          {r.constant(make_number(dtype == DType::undefined ? DType::f32 : dtype, alpha))});
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "FusedMatMul",
    .domain = "com.microsoft",
    .doc =
        "alpha * A * B with transposed operands: Transpose, MatMul and Mul replace it on import.",
    .schema = {.inputs = {{"A", type_set::float_types, "T"}, {"B", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real},
                              {"transA"},
                              {"transB"},
                              {"transBatchA"},
                              {"transBatchB"}}},
    .normalise = normalise,
};

}  // namespace longshore::ops::op_ms_fused_mat_mul
