// An element-wise function of one number: a look-up in the codes that the reference gives.
#include <numeric>

#include "base/error.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/table.hpp"
#include "tensor/requantise.hpp"
#include "tensor/table_codes.hpp"

namespace longshore::forms {
namespace {

bool wide(const FormNode& n) { return n.type(n.data()).dtype == DType::i16; }

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::table);
  for (std::size_t i = 1; i < n.node.inputs.size(); i++) {
    const ValueId v = n.node.input(i);
    if (v == no_value) continue;
    const Tensor* c = n.graph.constant(v);
    if (!c)
      out.computed(str("input ", i), n.graph[v].name);
    else if (c->elements() > 1)
      out.range(str("the number of elements of '", n.graph[v].name, "'"), c->elements(), 1, 1,
                "a table takes");
    else if (wide(n) && n.type(v).quantised())
      out.value(str("the element type of '", n.graph[v].name, "'"), "codes", "f32");
  }
  if (n.node.outputs.size() != 1)
    out.range("the number of outputs", static_cast<std::int64_t>(n.node.outputs.size()), 1, 1,
              "a table gives");
  same_codes(n, out);
  if (wide(n) && n.node.op->steep)
    out.add({"no straight lines between 513 entries come near its function",
             {},
             str("quantise '", n.graph[n.data()].name, "' to 8 bits")});
}

std::vector<Operand> operands(const FormSpec& s) {
  return {{.input = s.data}, {.source = Operand::Source::made}};
}

Box reach(const FormNode&, std::size_t operand, const TileBox& tile) {
  return operand == 0 ? tile.out : Box{};  // one table for all tiles
}

TileRules rules(const FormNode&, const Machine& m) { return {.channel_grain = sram_alignment(m)}; }

std::int64_t slot_bytes(const FormNode& n, std::size_t, const Tiling&, const Machine&) {
  return wide(n) ? static_cast<std::int64_t>(wide_table_entries) * 2 : 256;
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, vector_unit::table, t);
}

/// The node alone, on `count` elements of these types.
std::vector<Tensor> run_alone(const FormNode& n, TensorType in, TensorType out, Tensor x) {
  in.dims = out.dims = {Dim(x.elements())};
  Graph small;
  small.numbers = n.graph.numbers;
  Node copy = n.node;
  copy.inputs[0] = small.add_input("x", in);
  std::vector<Tensor> inputs(n.node.inputs.size());
  inputs[0] = std::move(x);
  for (std::size_t i = 1; i < n.node.inputs.size(); i++) {
    if (n.node.inputs[i] == no_value) continue;
    inputs[i] = *n.graph.constant(n.node.inputs[i]);
    copy.inputs[i] = small.add_constant({}, inputs[i]);
    small[copy.inputs[i]].type.quant = n.type(n.node.inputs[i]).quant;
  }
  copy.outputs = {small.add_value("y", out)};
  const std::vector<Tensor> y = evaluate_node(small, copy, inputs);
  check(y[0].elements() == inputs[0].elements(),
        "an operator of the form table that is not element-wise");
  return y;
}

/// The entries between which the reference draws its lines (tensor/table_codes.hpp), by the float
/// operator: the last one belongs to no code.
std::vector<std::byte> make_wide(const FormNode& n) {
  const Codes x = codes_of(n.type(n.data())), y = codes_of(n.type(n.result()));
  std::vector<float> numbers;
  for (std::size_t i = 0; i < wide_table_entries; i++)
    numbers.push_back(dequantise(wide_table_code(i), x.scale, x.zero));
  const TensorType floats(DType::f32, Shape{static_cast<std::int64_t>(wide_table_entries)});
  const std::vector<Tensor> out =
      run_alone(n, floats, floats, make_floats(*floats.shape(), numbers));
  std::vector<std::int16_t> entries;
  for (float f : out[0].values<float>())
    entries.push_back(static_cast<std::int16_t>(quantise(f, y.scale, y.zero, y.lowest, y.highest)));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(entries));
  return {bytes.begin(), bytes.end()};
}

/// The output code of each input code, by the reference.
std::vector<std::byte> make(const FormNode& n, std::size_t, const TileBox&) {
  if (wide(n)) return make_wide(n);
  std::vector<std::int8_t> codes(256);
  std::iota(codes.begin(), codes.end(), std::int8_t{-128});
  const std::vector<Tensor> y = run_alone(n, n.type(n.data()), n.type(n.result()),
                                          make_tensor<std::int8_t>(DType::i8, Shape{256}, codes));
  const std::span<const std::byte> bytes = std::as_bytes(y[0].values<std::int8_t>());
  return {bytes.begin(), bytes.end()};
}

void emit(const FormNode&, const TileTask& task, TileEmitter& e) {
  Table o;
  o.in = e.operand(0), o.out = e.result();
  set_extent(o, task.box.out);
  o.table = e.operand(1).address;
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_table = {
    .name = "table",
    .doc =
        "A function of one number by a table: of 256 entries, or 513 and the lines between them.",
    .dtypes = {DType::i8, DType::i16},
    .follows = true,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .slot_bytes = slot_bytes,
    .cycles = cycles,
    .make = make,
    .emit = emit,
    .examples =
        {R"((x: i8[1,3,4,5] q(0.1, 3)) {
      y: i8[1,3,4,5] q(0.00390625, -128) = Sigmoid(x) return y })",
         R"((x: i16[1,3,4,5] q(0.0001, 0)) {
      y: i16[1,3,4,5] q(0.000030517578125, 0) = Sigmoid(x) return y })",
         R"((x: i8[7] q(0.1, 3)) { y: i8[7] q(0.1, 3) = LeakyRelu(x, alpha=0.25) return y })"},
};

}  // namespace longshore::forms
