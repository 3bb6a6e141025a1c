// The same numbers as codes of another scale.
#include "base/error.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/requantise.hpp"

namespace longshore::forms {
namespace {

void limits(const FormNode&, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::requantise);
}

std::vector<Operand> operands(const FormSpec& s) { return {{.input = s.data}}; }

Box reach(const FormNode&, std::size_t, const TileBox& tile) { return tile.out; }

TileRules rules(const FormNode&, const Machine& m) { return {.channel_grain = sram_alignment(m)}; }

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, vector_unit::requantise, t);
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  Requantise o;
  o.in = e.operand(0), o.out = e.result();
  set_extent(o, task.box.out);
  set_input_codes(o, n);
  set_output_codes(o, n);
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_quantise = {
    .name = "quantise",
    .doc = "Codes of one scale to codes of another.",
    .dtypes = {DType::i8, DType::i16},
    .follows = true,
    .rescales = true,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .cycles = cycles,
    .emit = emit,
    .examples = {R"((x: i8[1,3,4,5] q(0.1, 3)) {
      a: i16[1,3,4,5] q(0.001, 0) = longshore.Requantize(x)
      y: i8[1,3,4,5] q(0.25, -8) = longshore.Requantize(a) return y })",
                 R"((x: i8[1,3,4,5] q(0.1, 3)) {
      y: i8[1,3,4,5] q(0.25, -8) = longshore.Requantize(x) return y })"},
};

}  // namespace longshore::forms
