// The mean over height and width: tiles of the input add into sums, the last one finishes.
#include "base/error.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/reduce.hpp"

namespace longshore::forms {
namespace {

std::optional<AxisOrder> order(const FormNode& n) {
  return n.spec.axis == 1 ? AxisOrder::channels_first : AxisOrder::channels_last;
}

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::reduce);
  if (n.spec.function != "mean") out.value("its function", n.spec.function, "mean");
  const TensorType& x = n.type(n.data());
  if (x.rank() < 3 || x.rank() > 4)
    out.range(str("the rank of '", n.graph[n.data()].name, "'"), x.rank(), 3, 4,
              "means over images are lowered for");
  // Of rank 2, whose first axis is no batch but rows.
  if (n.out.n != n.in.n) out.value("keepdims of a batch above 1", "0", "1");
  same_codes(n, out);
}

std::vector<Operand> operands(const FormSpec& s) { return {{.input = s.data}}; }

Box reach(const FormNode&, std::size_t, const TileBox& tile) {
  return {tile.out.n, tile.over.h, tile.over.w, tile.out.c};
}

TileRules rules(const FormNode&, const Machine& m) {
  return {.channel_grain = sram_alignment(m), .sums_pixels = true};
}

std::int64_t accumulator_bytes(const FormNode& n, const Tiling& t, const Machine&) {
  return t.channels * sum_bytes(n.type(n.data()).dtype);
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, vector_unit::reduce, t);
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  Reduce o;
  o.in = e.operand(0);
  set_extent(o, e.operand_box(0));
  set_input_codes(o, n);
  o.accumulate = !task.box.begins;
  o.finish = task.box.ends;
  o.accumulators = e.accumulators();
  o.out = e.result().address;
  o.divisor = static_cast<std::uint32_t>(n.in.h * n.in.w);
  set_output_codes(o, n);
  o.rounding = n.graph.numbers;
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_reduce = {
    .name = "reduce",
    .doc = "The mean over height and width.",
    .dtypes = {DType::i8, DType::i16},
    .order = order,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .accumulator_bytes = accumulator_bytes,
    .cycles = cycles,
    .emit = emit,
    .examples = {R"((x: i8[2,5,7,6] q(0.1, 3)) {
      y: i8[2,5,1,1] q(0.03, -3) = GlobalAveragePool(x) return y })",
                 R"((x: i16[2,5,7,6] q(0.001, 0)) {
      y: i16[2,5,1,1] q(0.0003, 0) = GlobalAveragePool(x) return y })",
                 R"((x: i8[1,7,5] q(0.1, 3)) {
      y: i8[1,5] q(0.03, -3) = ReduceMean(x, i64[1]{1}, keepdims=0) return y })",
                 R"((x: i8[2,7,6,5] q(0.1, 3)) {
      y: i8[2,1,1,5] q(0.03, -3) = ReduceMean(x, i64[2]{1, 2}) return y })",
                 R"((x: i8[2,5,7,6] q(0.1, 3)) {
      y: i8[2,5] q(0.03, -3) = ReduceMean(x, i64[2]{2, 3}, keepdims=0) return y })"},
};

}  // namespace longshore::forms
