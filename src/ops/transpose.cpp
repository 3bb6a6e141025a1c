#include "ops/movement.hpp"

namespace longshore::ops::op_transpose {
namespace {

/// Input axis of each output axis; default: reversed.
Status permutation(const Attributes& a, int rank, int (&perm)[max_rank]) noexcept {
  const std::span<const std::int64_t> given = a.integers("perm");
  if (!a.has("perm")) {
    for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
    return {};
  }
  bool seen[max_rank] = {};
  if (static_cast<int>(given.size()) != rank)
    return Status::error(Code::bad_model, "perm has %zu entries for rank %d", given.size(), rank);
  for (int i = 0; i < rank; i++) {
    perm[i] = resolve_axis(given[static_cast<std::size_t>(i)], rank);
    if (perm[i] < 0 || seen[perm[i]])
      return Status::error(Code::bad_model, "perm is not a permutation");
    seen[perm[i]] = true;
  }
  return {};
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  if (!x.ranked) {
    c.output(0,
             c.attributes().has("perm") && c.attributes().integers("perm").size() <= max_rank
                 ? unknown_dims(x.dtype, static_cast<int>(c.attributes().integers("perm").size()))
                 : TensorType::unranked(x.dtype));
    return;
  }
  int perm[max_rank] = {};
  if (const Status s = permutation(c.attributes(), x.rank(), perm); !s.ok()) c.fail(s.text());
  Dims out;
  for (int i = 0; i < x.rank(); i++) out.push_back(x.dims[static_cast<std::size_t>(perm[i])]);
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  int perm[max_rank] = {};
  LONGSHORE_TRY(permutation(c.attributes, x.shape.rank, perm));
  const Shape from = strides_of(x.shape);
  Shape dims, strides;
  for (int i = 0; i < x.shape.rank; i++) {
    dims.push(x.shape[perm[i]]);
    strides.push(from[perm[i]]);
  }
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  copy_strided(dims, size_bytes(x.dtype), x.data, strides, y.data, strides_of(dims));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Transpose",
    .doc =
        "Permutes the axes: output axis i is input axis perm[i]; without perm their order is "
        "reversed.",
    .since = 25,
    .schema = {.inputs = {{"data", type_set::any, "T"}},
               .outputs = {{"transposed", type_set::any, "T"}},
               .attributes = {{"perm", AttributeKind::integers}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = take_form,
    .examples = {"(x: f32[2,N,4,5]) { y = Transpose(x, perm=[0,2,3,1]) return y }",
                 "(x: u8[2,3,4]) { y = Transpose(x) return y }",
                 "(x: i8[2,3] q(0.5, 1)) { y: i8[3,2] q(0.5, 1) = Transpose(x) return y }"},
};

}  // namespace longshore::ops::op_transpose
