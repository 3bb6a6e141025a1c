// Softmax over the channels of each pixel: the exponentials of the distances from a row's greatest
// code are a table in SRAM.
#include "forms/support/rows.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/softmax.hpp"
#include "tensor/softmax_codes.hpp"

namespace longshore::forms {
namespace {

bool wide(const FormNode& n) { return n.type(n.data()).dtype == DType::i16; }

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::softmax);
  row_limits(n, out);
  if (!wide(n)) same_codes(n, out);
}

std::int64_t slot_bytes(const FormNode& n, std::size_t, const Tiling&, const Machine&) {
  return wide(n) ? sizeof(WideSoftmaxTable::e) : sizeof(SoftmaxTable);
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, vector_unit::softmax, t);
}

std::vector<std::byte> make(const FormNode& n, std::size_t, const TileBox&) {
  const float scale = codes_of(n.type(n.data())).scale;
  const SoftmaxTable narrow = softmax_table(scale);
  const WideSoftmaxTable table = wide_softmax_table(scale);
  const std::span<const std::uint32_t> entries =
      wide(n) ? std::span<const std::uint32_t>(table.e) : std::span<const std::uint32_t>(narrow.e);
  const auto bytes = std::as_bytes(entries);
  return {bytes.begin(), bytes.end()};
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  Softmax o;
  o.in = e.operand(0), o.out = e.result();
  set_extent(o, task.box.out);
  o.table = e.operand(1).address;
  if (wide(n)) o.shift = wide_softmax_table(codes_of(n.type(n.data())).scale).shift;
  set_output_codes(o, n);
  e.emit(Queue::vector, o);
}

}  // namespace

// It does not follow other forms: their tiles need not have all channels.
extern constinit const FormDef form_softmax = {
    .name = "softmax",
    .doc = "Shares of exponentials along one axis, which is walked as channels.",
    .dtypes = {DType::i8, DType::i16},
    .order = row_order,
    .limits = limits,
    .operands = row_operands,
    .reach = row_reach,
    .rules = row_rules,
    .slot_bytes = slot_bytes,
    .cycles = cycles,
    .make = make,
    .emit = emit,
    .examples = {R"((x: i8[2,3,5,37] q(0.1, 3)) {
      y: i8[2,3,5,37] q(0.00390625, -128) = Softmax(x) return y })",
                 R"((x: i8[1,20,9,7] q(0.03, -5)) {
      y: i8[1,20,9,7] q(0.003, -128) = Softmax(x, axis=1) return y })",
                 R"((x: i16[2,3,5,37] q(0.0004, 0)) {
      y: i16[2,3,5,37] q(0.000030517578125, 0) = Softmax(x) return y })",
                 R"((x: i8[300] q(0.02, 0)) { y: i8[300] q(0.0001, -100) = Softmax(x) return y })"},
};

}  // namespace longshore::forms
