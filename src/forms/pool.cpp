// Windows over height and width, channel by channel: the maximum or the mean.
#include "base/error.hpp"
#include "forms/support/mac.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/pool.hpp"

namespace longshore::forms {
namespace {

struct Function {
  std::string_view name;
  Pool::Function code;
  const VectorFunction* unit;
};
constexpr Function functions[] = {
    {"max", Pool::Function::max, &vector_unit::max_pool},
    {"average", Pool::Function::average, &vector_unit::average_pool},
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
    out.value("its function", n.spec.function, "max or average");
  const TensorType &x = n.type(n.data()), &y = n.type(n.result());
  if (x.rank() < 3 || x.rank() > 4)
    out.range(str("the rank of '", n.graph[n.data()].name, "'"), x.rank(), 3, 4,
              "pools are lowered for");
  if (n.spec.function == functions[0].name && !(x.quant == y.quant))
    out.scales(n.graph[n.data()].name, n.graph[n.result()].name);
  window_limits(n, out);
  same_codes(n, out);
}

std::vector<Operand> operands(const FormSpec& s) { return {{.input = s.data}}; }

Box reach(const FormNode& n, std::size_t, const TileBox& tile) {
  return {tile.out.n, reach_of(n.spec.window, 1, tile.out.h, n.in.h).in,
          reach_of(n.spec.window, 2, tile.out.w, n.in.w).in, tile.out.c};
}

TileRules rules(const FormNode&, const Machine& m) { return {.channel_grain = sram_alignment(m)}; }

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, *function(n.spec)->unit, t, n.spec.window.taps());
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const Box &in = e.operand_box(0), &out = task.box.out;
  Pool o;
  o.function = function(n.spec)->code;
  o.count_include_pad = n.spec.counts_padding;
  o.in = e.operand(0), o.out = e.result();
  o.in_h = u32(in.h.size()), o.in_w = u32(in.w.size()), o.channels = u32(in.c.size());
  set_window(o, n, out);
  o.out_h = u32(out.h.size()), o.out_w = u32(out.w.size());
  set_input_codes(o, n);
  set_output_codes(o, n);
  o.rounding = n.graph.numbers;
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_pool = {
    .name = "pool",
    .doc = "The maximum or the mean of windows over height and width.",
    .dtypes = {DType::i8, DType::i16},
    .order = [](const FormNode&) { return std::optional(AxisOrder::channels_first); },
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .cycles = cycles,
    .emit = emit,
    .examples =
        {R"((x: i8[1,3,7,6] q(0.1, 3)) {
      y: i8[1,3,4,3] q(0.1, 3) = MaxPool(x, kernel_shape=[3,2], pads=[1,0,1,0], strides=[2,2]) return y })",
         R"((x: i8[2,3,7,6] q(0.1, 3)) {
      y: i8[2,3,7,6] q(0.07, -3) = AveragePool(x, kernel_shape=[3,3], pads=[1,1,1,1]) return y })",
         R"((x: i16[2,3,7,6] q(0.001, 0)) {
      a: i16[2,3,7,6] q(0.0007, 0) = AveragePool(x, kernel_shape=[3,3], pads=[1,1,1,1])
      y: i16[2,3,5,4] q(0.0007, 0) = MaxPool(a, kernel_shape=[3,3]) return y })",
         R"((x: i8[1,5,4,6] q(0.1, 3)) { y: i8[1,5,1,1] q(0.1, 3) = GlobalMaxPool(x) return y })"},
};

}  // namespace longshore::forms
