#include "ops/einsum.hpp"

#include "base/error.hpp"
#include "ops/matmul.hpp"

namespace longshore::ops::op_einsum {
namespace {

void infer(InferContext& c) {
  const DType dtype = c.input(0).dtype;
  std::vector<int> ranks;
  for (std::size_t i = 0; i < c.input_count(); i++) {
    if (!c.input(i).ranked) return c.output(0, TensorType::unranked(dtype));
    ranks.push_back(c.input(i).rank());
  }
  EinsumPlan p;
  const std::string_view equation = c.attributes().text("equation");
  if (!plan_einsum(equation, ranks, p))
    c.fail(str("its equation '", equation, "' does not fit its inputs"));
  Dims sizes(einsum_labels, Dim(1));
  for (std::size_t i = 0; i < p.operands; i++)
    for (int k = 0; k < p.in[i].rank; k++) {
      Dim& d = sizes[static_cast<std::size_t>(p.in[i].labels[k])];
      const std::optional<Dims> both =
          broadcast_dims({d}, {c.input(i).dims[static_cast<std::size_t>(k)]});
      if (!both) c.fail(str("a label of its equation '", equation, "' has two sizes"));
      d = (*both)[0];
    }
  TensorType y(dtype, Dims());
  for (int k = 0; k < p.out.rank; k++)
    y.dims.push_back(sizes[static_cast<std::size_t>(p.out.labels[k])]);
  c.output(0, y);
}

/// Loops over labels: for each output element, over all values of the labels that it lacks.
struct Loops {
  int count = 0;
  std::int64_t size[einsum_labels] = {}, at[einsum_labels] = {};
  std::int64_t step[einsum_labels][einsum_operands] = {};

  bool next() {
    for (int i = count; i-- > 0;) {
      if (++at[i] < size[i]) return true;
      at[i] = 0;
    }
    return false;
  }
  std::int64_t offset(std::size_t operand) const {
    std::int64_t sum = 0;
    for (int i = 0; i < count; i++) sum += at[i] * step[i][operand];
    return sum;
  }
};

Status eval(EvalContext& c) noexcept {
  int ranks[einsum_operands] = {};
  if (c.inputs.size() > std::size(ranks))
    return Status::error(Code::unsupported, "more than 16 inputs");
  for (std::size_t i = 0; i < c.inputs.size(); i++) ranks[i] = c.input(i).shape.rank;
  EinsumPlan p;
  if (!plan_einsum(c.attributes.text("equation"), {ranks, c.inputs.size()}, p))
    return Status::error(Code::bad_model, "the equation does not fit the inputs");
  std::int64_t sizes[einsum_labels], steps[einsum_labels][einsum_operands] = {};
  std::fill_n(sizes, einsum_labels, 1);
  for (std::size_t i = 0; i < p.operands; i++)
    for (int k = 0; k < p.in[i].rank; k++) {
      std::int64_t& size = sizes[p.in[i].labels[k]];
      const std::int64_t d = c.input(i).shape[k];
      if (size != d && size != 1 && d != 1)
        return Status::error(Code::bad_argument, "a label has two sizes");
      if (size == 1) size = d;
    }
  for (std::size_t i = 0; i < p.operands; i++) {
    const Shape strides = strides_of(c.input(i).shape);
    for (int k = 0; k < p.in[i].rank; k++)
      if (c.input(i).shape[k] != 1)
        steps[p.in[i].labels[k]][i] += strides[k];  // twice: the diagonal
  }
  Loops outer, inner;
  Shape dims;
  bool kept[einsum_labels] = {};
  const auto loop = [&](Loops& loops, int label) {
    loops.size[loops.count] = sizes[label];
    std::copy_n(steps[label], einsum_operands, loops.step[loops.count++]);
  };
  for (int k = 0; k < p.out.rank; k++) {
    dims.push(sizes[p.out.labels[k]]);
    loop(outer, p.out.labels[k]);
    kept[p.out.labels[k]] = true;
  }
  bool empty = false;
  for (int label = 0; label < einsum_labels; label++)
    if (!kept[label] && p.used[label] > 0) {
      loop(inner, label);
      empty = empty || sizes[label] == 0;
    }
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t n = y.elements();
  const bool known = visit_type(NumberTypes{}, y.dtype, [&]<class T>() {
    using Sum = ProductSum<T>;
    std::int64_t start[einsum_operands] = {};
    for (std::int64_t i = 0; i < n; i++, outer.next()) {
      for (std::size_t k = 0; k < p.operands; k++) start[k] = outer.offset(k);
      Sum sum{};
      if (!empty) do {
          Sum product{1};
          for (std::size_t k = 0; k < p.operands; k++)
            product *= static_cast<Sum>(
                static_cast<Compute<T>>(c.input(k).as<T>()[start[k] + inner.offset(k)]));
          sum += product;
        } while (inner.next());
      y.as<T>()[i] = static_cast<T>(sum);
    }
  });
  return known ? Status{} : wrong_type(y.dtype);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Einsum",
    .doc =
        "Einstein's summation: the products of the inputs' elements, summed over the labels that "
        "the output lacks.",
    .since = 12,
    .schema = {.inputs = {{"Inputs", type_set::numbers, "T", Presence::variadic}},
               .outputs = {{"Output", type_set::numbers, "T"}},
               .attributes = {{"equation", AttributeKind::text, true}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .float_rtol = 1e-4f,  // the order of the sum is free
    .float_atol = 1e-4f,
    .examples =
        {"(a: f32[2,3], b: f32[3,4]) { y = Einsum(a, b, equation=\"ij,jk->ik\") return y }",
         "(a: f32[2,3,4]) { y = Einsum(a, equation=\"ijk->ki\") return y }",
         "(a: f32[5,2,3], b: f32[1,3,4]) { y = Einsum(a, b, equation=\"...ij,...jk\") return y }",
         "(a: i32[3,3]) { y = Einsum(a, equation=\"ii->i\") return y }"},
};

}  // namespace longshore::ops::op_einsum
