// Two tensors element by element, each with its scale; axes of 1 are broadcast as numpy does.
#include <array>

#include "base/error.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/eltwise.hpp"

namespace longshore::forms {
namespace {

struct Function {
  std::string_view name;
  Eltwise::Function code;
  const VectorFunction* unit;
};
constexpr Function functions[] = {
    {"add", Eltwise::Function::add, &vector_unit::add},
    {"subtract", Eltwise::Function::subtract, &vector_unit::add},
    {"multiply", Eltwise::Function::multiply, &vector_unit::multiply},
};

const Function* function(const FormSpec& s) {
  for (const Function& f : functions)
    if (f.name == s.function) return &f;
  return nullptr;
}

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  if (const Function* f = function(n.spec))
    out.needs(unit, *f->unit);
  else
    out.value("its function", n.spec.function, "add, subtract or multiply");
  if (n.node.inputs.size() != 2)
    return out.range("the number of inputs", static_cast<std::int64_t>(n.node.inputs.size()), 2, 2,
                     "element-wise instructions take");
  const std::optional<Extent> to = extent_of(n.graph[n.result()]);
  std::size_t constants = 0, full = 0;
  for (const int role : {n.spec.data, n.spec.other}) {
    const ValueId v = n.input(role);
    constants += n.graph.constant(v) ? 1 : 0;
    if (to && extent_of(n.graph[v]) && n.type(v).rank() <= n.type(n.result()).rank())
      full += !n.graph.constant(v) && aligned_extent(n.graph, v, n.result()) == *to ? 1 : 0;
  }
  const std::string names =
      str("'", n.graph[n.data()].name, "' and '", n.graph[n.input(n.spec.other)].name, "'");
  if (constants == 2) return out.value(names, "both constants", "one computed");
  if (to && full == 0)
    out.add({str(names, " are both broadcast"),
             {},
             str("expand one of them to ", print(n.type(n.result())))});
}

std::vector<Operand> operands(const FormSpec& s) {
  return {{.input = s.data, .broadcast = true}, {.input = s.other, .broadcast = true}};
}

/// Operand 0 has the extents of the result; axes of 1 of operand 1 are broadcast.
Box reach(const FormNode& n, std::size_t operand, const TileBox& tile) {
  Box box = tile.out;
  if (operand == 0) return box;
  const Extent e = aligned_extent(n.graph, n.input(n.spec.other), n.result());
  if (e.n == 1) box.n = 0;
  if (e.h == 1) box.h = {0, 1};
  if (e.w == 1) box.w = {0, 1};
  if (e.c == 1) box.c = {0, 1};
  return box;
}

TileRules rules(const FormNode&, const Machine& m) { return {.channel_grain = sram_alignment(m)}; }

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, *function(n.spec)->unit, t);
}

/// The instruction's a and b are the node's inputs 0 and 1, whichever of them is walked.
void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  Eltwise o;
  o.function = function(n.spec)->code;
  const std::size_t a = n.spec.data == 0 ? 0 : 1;
  const auto tile = [&](std::size_t operand, std::uint32_t& channel_stride) {
    Tile t = e.operand(operand);
    const Extent& whole = e.operand_extent(operand);
    if (whole.h == 1) t.row_stride = 0;
    if (whole.w == 1) t.pixel_stride = 0;
    channel_stride = whole.c == 1 ? 0 : 1;
    return t;
  };
  o.a = tile(a, o.a_channel_stride), o.b = tile(1 - a, o.b_channel_stride);
  o.out = e.result();
  set_extent(o, task.box.out);
  const Codes x = codes_of(n.type(n.node.input(0))), z = codes_of(n.type(n.node.input(1)));
  o.a_scale = x.scale, o.b_scale = z.scale;
  o.a_zero = x.zero, o.b_zero = z.zero;
  set_output_codes(o, n);
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_eltwise = {
    .name = "eltwise",
    .doc = "Two tensors element by element, with broadcasting and two scales.",
    .dtypes = {DType::i8, DType::i16},
    .follows = true,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .cycles = cycles,
    .emit = emit,
    .examples = {R"((x: i8[1,3,4,5] q(0.1, 3), z: i8[3,1,1] q(0.2, 1)) {
      y: i8[1,3,4,5] q(0.2, 0) = Sub(z, x) return y })",
                 R"((x: i8[2,3,4] q(0.1, 3), z: i8[4] q(0.2, 1)) {
      y: i8[2,3,4] q(0.02, 0) = Mul(x, z) return y })",
                 R"((x: i16[1,20,5,7] q(0.001, 0), z: i8[20,1,1] q(0.2, 1)) {
      y: i16[1,20,5,7] q(0.003, 0) = Mul(x, z) return y })",
                 R"((x: i8[6,4] q(0.1, 3), z: i8[2,6,4] q(0.2, 1)) {
      y: i8[2,6,4] q(0.2, 0) = Add(x, z) return y })"},
};

}  // namespace longshore::forms
