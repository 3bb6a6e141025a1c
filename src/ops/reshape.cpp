#include "ops/movement.hpp"

namespace longshore::ops::op_reshape {
namespace {

/// -1 in at most one place; 0 copies the input's dim unless allowzero.
Status resolve(const Shape& x, const IntList& wanted, bool allow_zero, Shape& out) noexcept {
  int open = -1;
  out = {};
  for (int i = 0; i < wanted.count; i++) {
    std::int64_t d = wanted[i];
    if (d == 0 && !allow_zero) {
      if (i >= x.rank)
        return Status::error(Code::bad_argument,
                             "entry %d of the shape is 0, the input has rank %d", i, x.rank);
      d = x[i];
    } else if (d == -1) {
      if (open >= 0) return Status::error(Code::bad_argument, "the shape has -1 twice");
      open = i;
      d = 1;
    } else if (d < 0) {
      return Status::error(Code::bad_argument, "the shape has the entry %lld",
                           static_cast<long long>(d));
    }
    out.push(d);
  }
  const std::int64_t have = x.elements(), rest = checked_elements(out);
  if (open >= 0 && rest > 0 && have % rest == 0)
    out[open] = have / rest;
  else if (rest < 0 || rest != have || open >= 0)
    return Status::error(Code::bad_argument,
                         "%lld elements cannot take the shape wanted, of %lld elements%s",
                         static_cast<long long>(have), static_cast<long long>(rest),
                         open >= 0 ? " times an unknown" : "");
  return {};
}

void infer(InferContext& c) {
  const TensorType x = c.input(0), shape = c.input(1);
  const std::optional<Ints> wanted = c.integers(1);
  if (!wanted) {
    const std::optional<Shape> length = shape.shape();
    if (length && length->rank == 1 && (*length)[0] <= max_rank)
      c.output(0, unknown_dims(x.dtype, static_cast<int>((*length)[0])));
    else
      c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  if (static_cast<int>(wanted->size()) > max_rank)
    c.fail("its shape has " + std::to_string(wanted->size()) + " entries; at most 8 are supported");
  const bool allow_zero = c.attributes().integer("allowzero", 0) != 0;
  if (const std::optional<Shape> known = x.shape()) {
    IntList list;
    for (std::int64_t d : *wanted) list.values[list.count++] = d;
    Shape out;
    if (const Status s = resolve(*known, list, allow_zero, out); !s.ok()) c.fail(s.text());
    c.output(0, {x.dtype, out});
    return;
  }
  // Symbols that are copied cancel; what is left must be numbers to give the open dim.
  Dims out, left = x.ranked ? x.dims : Dims{};
  bool solvable = x.ranked;
  std::int64_t numbers = 1;
  int open = -1;
  const auto times = [&](std::int64_t d) {
    solvable = solvable && !__builtin_mul_overflow(numbers, d, &numbers);
  };
  for (std::size_t i = 0; i < wanted->size(); i++) {
    const std::int64_t d = (*wanted)[i];
    if (d == 0 && !allow_zero) {
      if (x.ranked && i >= x.dims.size())
        c.fail("entry " + std::to_string(i) + " of its shape is 0, beyond its input's rank");
      out.push_back(x.ranked ? x.dims[i] : Dim());
      if (out.back().known())
        times(out.back().value);
      else if (x.ranked)
        left[i] = Dim(1);
    } else if (d == -1) {
      if (open >= 0) c.fail("its shape has -1 twice");
      open = static_cast<int>(i);
      out.emplace_back();
    } else if (d < 0) {
      c.fail("its shape has the entry " + std::to_string(d));
    } else {
      out.emplace_back(d);
      times(d);
    }
  }
  std::int64_t have = 1;
  std::string symbol;
  int symbols = 0;
  for (const Dim& d : left)
    if (d.known())
      solvable = solvable && !__builtin_mul_overflow(have, d.value, &have);
    else
      symbol = d.symbol, symbols++;
  if (open >= 0 && solvable && numbers > 0) {
    if (symbols == 0 && have % numbers == 0)
      out[static_cast<std::size_t>(open)] = Dim(have / numbers);
    if (symbols == 1 && have == numbers && !symbol.empty())
      out[static_cast<std::size_t>(open)] = Dim::named(symbol);
  }
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  IntList wanted;
  Shape out;
  LONGSHORE_TRY(read_ints(c.input(1), max_rank, "the shape", wanted));
  LONGSHORE_TRY(resolve(c.input(0).shape, wanted, c.attributes.integer("allowzero", 0) != 0, out));
  return copy_as(c, out);
}

/// The number that the target starts with.
std::int64_t first_dim(const NodeTypes& n) {
  const Tensor* target = n.graph.constant(n.node.input(1));
  const bool known = target && target->dtype == DType::i64 && target->elements() > 0;
  return known ? std::max<std::int64_t>(0, target->values<std::int64_t>()[0]) : 0;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Reshape",
    .doc =
        "The same elements with other dims: -1 takes what is left, 0 copies a dim (unless "
        "allowzero).",
    .since = 25,
    .schema = {.inputs = {{"data", type_set::any, "T"},
                          {"shape", type_set::int64, {}, Presence::required, InputRole::parameter}},
               .outputs = {{"reshaped", type_set::any, "T"}},
               .attributes = {{"allowzero"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .first_dim = first_dim,
    .form = view_form,
    .view = true,
    .examples = {"(x: f32[2,3,4]) { y = Reshape(x, i64[3]{0, -1, 2}) return y }",
                 "(x: f32[N,3,4]) { y = Reshape(x, i64[2]{-1, 12}) return y }",
                 "(x: i8[0,2], s: i64[2]) { a = Shape(x) y = Reshape(x, a, allowzero=1) return y }",
                 "(x: i8[2,3] q(0.5, 1)) { y: i8[6] q(0.5, 1) = Reshape(x, i64[1]{-1}) return y }"},
};

}  // namespace longshore::ops::op_reshape
