// Elements at other places: parts of a tensor, several behind one another, a border around one.
// What no strides can show is copied through the SRAM.
#include <algorithm>

#include "base/error.hpp"
#include "forms/support/move_map.hpp"
#include "program/instructions/fill.hpp"
#include "program/instructions/requantise.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore::forms {
namespace {

using Move = FormSpec::Move;

Shows shows(const FormSpec& s) {
  switch (s.move) {
    case Move::takes:
      return Shows::takes;
    case Move::joins:
      return Shows::joins;
    case Move::pads:
      break;
  }
  return Shows::nothing;
}

void prepare(const Graph& g, const Node& n, FormSpec& s) {
  if (s.move != Move::pads) return;
  const Tensor out = trace(g, n, static_cast<std::size_t>(s.data))[0];
  const std::span<const std::int32_t> all = out.values<std::int32_t>();
  const auto first = std::ranges::find(all, 1);
  check(first != all.end(), "a border that drops the first element");
  s.start = nhwc_position(g[n.outputs[0]].order, out.shape, first - all.begin());
}

/// A DMA walks strides; DepthToSpace and the like need more axes than it has.
void map_limits(const FormNode& n, Reasons& out) {
  bool known = extent_of(n.graph[n.data()]).has_value();
  for (std::size_t i = 0; i < n.node.inputs.size(); i++)
    known = known && (static_cast<int>(i) == n.spec.data || n.node.input(i) == no_value ||
                      n.graph.constant(n.node.input(i)));
  for (ValueId v : n.node.outputs)
    if (v != no_value) known = known && extent_of(n.graph[v]).has_value();
  for (std::size_t k = 0; known && k < n.node.outputs.size(); k++) {
    const ValueId v = n.node.outputs[k];
    if (v == no_value || n.type(v).shape()->elements() == 0) continue;
    if (!move_map(n.graph, n.node, n.spec, k))
      out.add({str("no strides over 4 axes say where the elements of '", n.graph[v].name, "' lie"),
               {},
               str("make '", n.graph[v].name, "' by Reshape and Transpose of at most 4 axes")});
  }
}

/// A part with another scale than the whole is rescaled on its way.
void rescale_limits(const FormNode& n, ValueId part, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::requantise);
  for (ValueId v : {part, n.result()})
    if (std::ranges::find(rescaling().dtypes, n.type(v).dtype) == rescaling().dtypes.end())
      out.value(str("the element type of '", n.graph[v].name, "'"), name(n.type(v).dtype),
                name(rescaling().dtypes[0]));
}

/// The code of the border: its constant may be a code, a quantised number or a float.
std::int32_t border(const FormNode& n) {
  const Codes codes = codes_of(n.type(n.result()));
  const ValueId v = n.input(n.spec.fill);
  const Tensor* given = n.graph.constant(v);
  if (!given || given->elements() != 1) return codes.zero;
  const auto code_of = [&](float x) {
    return quantise(x, codes.scale, codes.zero, codes.lowest, codes.highest);
  };
  if (given->dtype == DType::f32) return code_of(given->values<float>()[0]);
  const std::int32_t code = load_code(given->view(), 0);
  const Quantisation& q = n.type(v).quant;
  return q.present() ? code_of(dequantise(code, q.scale[0], q.zero_point[0])) : code;
}

/// A fill writes one byte value, which both halves of a 16-bit code must be.
void border_limits(const FormNode& n, Reasons& out) {
  if (const std::int32_t code = border(n); (code & 0xff) != (code >> 8 & 0xff))
    out.value("the code of its border", std::to_string(code), "0, or one of two equal bytes");
}

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  const bool joins = n.spec.move == Move::joins;
  for (std::size_t i = 0; i < n.node.inputs.size(); i++) {
    const ValueId v = n.node.input(i);
    if (v == no_value) continue;
    const bool same =
        n.type(v).quant == n.type(n.result()).quant && n.type(v).dtype == n.type(n.result()).dtype;
    if (joins && !same) rescale_limits(n, v, unit, out);
    if (joins && n.graph.constant(v))
      out.value(str("'", n.graph[v].name, "'"), "a constant", "computed");
    if (!joins && static_cast<int>(i) != n.spec.data && !n.graph.constant(v))
      out.computed(str("input ", i), n.graph[v].name);
  }
  for (ValueId v : n.node.outputs)
    if (!joins && v != no_value && !(n.type(n.data()).quant == n.type(v).quant))
      out.scales(n.graph[n.data()].name, n.graph[v].name);
  if (n.spec.move == Move::pads) out.needs(unit, vector_unit::fill);
  if (n.spec.move == Move::pads && n.type(n.result()).dtype == DType::i16) border_limits(n, out);
  if (n.spec.move == Move::takes) map_limits(n, out);
}

std::vector<Operand> operands(const FormSpec& s) {
  return {{.source = Operand::Source::inside, .input = s.data}};
}

/// Copies walk both sides alike; `pads` reads what of the tile lies inside the input.
Box reach(const FormNode& n, std::size_t, const TileBox& tile) {
  if (n.spec.move != Move::pads) return tile.out;
  const auto cut = [](Span s, std::int64_t start, std::int64_t size) {
    return Span{std::clamp<std::int64_t>(s.from - start, 0, size),
                std::clamp<std::int64_t>(s.to - start, 0, size)};
  };
  const auto& start = n.spec.start;
  Box box{tile.out.n - start[0], cut(tile.out.h, start[1], n.in.h),
          cut(tile.out.w, start[2], n.in.w), cut(tile.out.c, start[3], n.in.c)};
  if (box.n < 0 || box.n >= n.in.n) box.h = {0, 0};
  return box;
}

TileRules rules(const FormNode&, const Machine& m) { return {.channel_grain = sram_alignment(m)}; }

double cycles(const FormNode&, const Tiling&, const Machine&) { return 0; }

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  const Box &from = e.operand_box(0), &to = task.box.out;
  const Tile tile = e.result();
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  if (n.spec.move != Move::pads) return e.load(0, from, tile.address);
  const bool whole = !from.empty() && from.h.size() == to.h.size() &&
                     from.w.size() == to.w.size() && from.c.size() == to.c.size();
  if (!whole) {
    Fill fill;
    fill.address = tile.address;
    fill.count[1] = u32(to.h.size()), fill.count[2] = u32(to.w.size());
    fill.stride[1] = tile.row_stride, fill.stride[2] = tile.pixel_stride;
    fill.run_bytes = u32(to.c.size() * n.element_bytes(n.result()));
    fill.value = static_cast<std::int8_t>(border(n));
    e.emit(Queue::dma_in, fill);
  }
  if (from.empty()) return;
  const auto before = [&](std::int64_t start, Span out) {
    return u32(std::max<std::int64_t>(0, start - out.from));
  };
  e.load(0, from,
         tile.address + before(n.spec.start[1], to.h) * tile.row_stride +
             before(n.spec.start[2], to.w) * tile.pixel_stride +
             before(n.spec.start[3], to.c) * u32(n.element_bytes(n.result())));
}

}  // namespace

extern constinit const FormDef form_move = {
    .name = "move",
    .doc = "Slices, splits, transposes, joins and borders: views where strides allow, else copies.",
    .dtypes = {DType::i8, DType::u8, DType::i16},
    .leads = false,
    .copies = true,
    .shows = shows,
    .prepare = prepare,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .queue = Queue::dma_in,
    .cycles = cycles,
    .emit = emit,
    .examples =
        {R"((x: i8[1,3,4,5] q(0.1, 3)) {
      y: i8[1,3,6,7] q(0.1, 3) = Pad(x, i64[8]{0,0,1,1,0,0,1,1}) return y })",
         R"((x: i16[1,3,4,5] q(0.001, 0)) {
      a: i16[1,3,6,7] q(0.001, 0) = Pad(x, i64[8]{0,0,1,1,0,0,1,1})
      y: i16[1,6,7,3] q(0.001, 0) = Transpose(a, perm=[0,2,3,1]) return y })",
         R"((x: i8[1,6,4,5] q(0.1, 3)) { y: i8[1,4,5,6] q(0.1, 3) = Transpose(x, perm=[0,2,3,1]) return y })",
         R"((x: i8[1,3,4,5] q(0.1, 3), z: i8[1,2,4,5] q(0.2, 3)) {
      y: i8[1,5,4,5] q(0.2, 3) = Concat(x, z, axis=1) return y })"},
};

}  // namespace longshore::forms
