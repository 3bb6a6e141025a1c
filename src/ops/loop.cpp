#include <limits>

#include "ops/carried.hpp"

namespace longshore::ops::op_loop {
namespace {

std::size_t carried_count(std::size_t inputs) { return inputs > 2 ? inputs - 2 : 0; }

void infer(InferContext& c) {
  const std::size_t n = carried_count(c.input_count());
  if (c.output_count() < n)
    c.fail("it has " + std::to_string(n) + " carried values and only " +
           std::to_string(c.output_count()) + " outputs");
  std::vector<TensorType> in = {TensorType(DType::i64, Shape{}),
                                TensorType(DType::boolean, Shape{})};
  for (std::size_t i = 0; i < n; i++) in.push_back(c.input(2 + i));
  const std::vector<TensorType> out = infer_carried(c, in, 2, 1, n);
  if (out.size() != 1 + c.output_count())
    c.fail("its body has " + std::to_string(out.size()) + " outputs, it needs " +
           std::to_string(1 + c.output_count()));
  for (std::size_t i = 0; i < n; i++) c.output(i, in[2 + i]);
  for (std::size_t i = n; i < c.output_count(); i++) {
    TensorType stack = out[1 + i];
    if (stack.ranked && stack.rank() >= max_rank)
      c.fail("a scan output would have more than 8 dimensions");
    if (stack.ranked) stack.dims.insert(stack.dims.begin(), Dim());
    c.output(i, stack);
  }
}

Status is_true(const TensorView& v, bool& value) noexcept {
  if (v.elements() != 1 || v.dtype != DType::boolean)
    return Status::error(Code::bad_argument, "the condition must be one bool");
  value = v.as<Bool8>()[0];
  return {};
}

Status eval(EvalContext& c) noexcept {
  const std::size_t n = carried_count(c.inputs.size()), outputs = c.output_count();
  if (n + 2 > most_carried || outputs + 1 > most_carried)
    return Status::error(Code::unsupported, "a Loop with more than %zu values", most_carried - 2);
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (c.has(0)) {
    if (c.input(0).elements() != 1)
      return Status::error(Code::bad_argument, "the trip count must be one number");
    trips = int_at(c.input(0), 0);
  }
  bool go = true;
  if (c.has(1)) LONGSHORE_TRY(is_true(c.input(1), go));
  TensorView in[most_carried], out[most_carried];
  std::int64_t turn = 0;
  Bool8 condition(true);
  in[0] = {DType::i64, {}, &turn, {}};
  in[1] = {DType::boolean, {}, &condition, {}};
  for (std::size_t i = 0; i < n; i++) in[2 + i] = c.input(2 + i);
  for (; go && turn < trips; turn++) {
    LONGSHORE_TRY(c.run("body", {in, 2 + n}, {out, 1 + outputs}));
    LONGSHORE_TRY(is_true(out[0], go));
    for (std::size_t i = 0; i < n; i++) in[2 + i] = out[1 + i];
    for (std::size_t i = n; i < outputs; i++) {
      if (!c.wants(i)) continue;
      const TensorView& row = out[1 + i];
      Shape dims{turn + 1};
      if (row.shape.rank >= max_rank)
        return Status::error(Code::unsupported, "a scan output of more than 8 dimensions");
      for (std::int64_t d : row.shape) dims.push(d);
      MutableView stack;
      LONGSHORE_TRY(c.output(i, dims, stack));
      if (stack.dtype != row.dtype ||
          stack.bytes() != row.bytes() * static_cast<std::size_t>(turn + 1))
        return Status::error(Code::bad_model, "scan output %zu changes its type", i);
      if (row.bytes() > 0)
        std::memcpy(stack.as<std::byte>() + row.bytes() * static_cast<std::size_t>(turn), row.data,
                    row.bytes());
    }
  }
  for (std::size_t i = 0; i < n; i++) LONGSHORE_TRY(copy_output(c, i, in[2 + i]));
  for (std::size_t i = n; i < outputs && turn == 0; i++) {
    MutableView stack;
    if (c.wants(i)) LONGSHORE_TRY(c.output(i, empty_stack(c, i, 0), stack));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Loop",
    .doc =
        "Runs its body while the condition holds, at most M times; both may be absent. The body "
        "takes turn, condition and "
        "carried values, and gives condition, carried values and rows that are stacked.",
    .since = 25,
    .schema = {.inputs = {{"M", type_set::indices, {}, Presence::optional},
                          {"cond", type_set::boolean, {}, Presence::optional},
                          {"v_initial", type_set::any, {}, Presence::variadic}},
               .outputs = {{"v_final_and_scan_outputs", type_set::any, {}, Presence::variadic}},
               .attributes = {{"body", AttributeKind::graph, true}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(m: i64[], x: f32[2]) { y, rows = Loop(i64[]{3}, _, x) body=(i: i64[], go: "
                 "bool[], a: f32[2]) { "
                 "b = Add(a, x) s = Shape(b) return go, b, s } return y, rows }",
                 "(x: f32[N]) { y, rows = Loop(i64[]{0}, bool[]{true}, x) body=(i: i64[], go: "
                 "bool[], a: f32[N]) { "
                 "b = Concat(a, a, axis=0) return go, b, b } return y, rows }"},
};

}  // namespace longshore::ops::op_loop
