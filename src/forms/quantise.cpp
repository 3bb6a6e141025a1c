// The same numbers as codes of another scale.
#include "base/error.hpp"
#include "forms/form.hpp"
#include "program/instructions/requantise.hpp"
#include "sim/costs.hpp"

namespace longshore::forms {
namespace {

void limits(const FormNode&, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::requantise);
}

std::vector<Operand> operands(const FormSpec& s) { return {{.input = s.data}}; }

Box reach(const FormNode&, std::size_t, const TileBox& tile) { return tile.out; }

TileRules rules(const FormNode&, const Machine& m) {
  return {.channel_grain = sram_alignment(m)};
}

double cycles(const FormNode&, const Tiling& t, const Machine& m) {
  return vector_cycles(m, vector_unit::requantise,
                       static_cast<std::uint64_t>(t.rows * t.columns * t.channels));
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  const Codes x = codes_of(n.type(n.data())), y = codes_of(n.type(n.result()));
  const Box& box = task.box.out;
  Requantise o;
  o.in = e.operand(0), o.out = e.result();
  o.height = static_cast<std::uint32_t>(box.h.size());
  o.width = static_cast<std::uint32_t>(box.w.size());
  o.channels = static_cast<std::uint32_t>(box.c.size());
  o.in_scale = x.scale, o.out_scale = y.scale;
  o.in_zero = x.zero, o.out_zero = y.zero;
  o.lowest = y.lowest, o.highest = y.highest;
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_quantise = {
    .name = "quantise",
    .doc = "Codes of one scale to codes of another.",
    .follows = true,
    .rescales = true,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .cycles = cycles,
    .emit = emit,
    .examples = {R"((x: i8[1,3,4,5] q(0.1, 3)) {
      y: i8[1,3,4,5] q(0.25, -8) = longshore.Requantize(x) return y })"},
};

}  // namespace longshore::forms
