// Nearest neighbours over height and width: by a whole factor, or by tables of rows and columns.
#include <algorithm>

#include "base/error.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/resize.hpp"

namespace longshore::forms {
namespace {

constexpr std::size_t data = 0, indices = 1;

/// Rows and columns are found by running the reference on numbered elements.
void prepare(const Graph& g, const Node& n, FormSpec& s) {
  const auto input = static_cast<std::size_t>(s.data);
  const Extent in = *extent_of(g[n.input(input)]);
  const Tensor out = trace(g, n, input)[static_cast<std::size_t>(s.result)];
  const std::span<const std::int32_t> source = out.values<std::int32_t>();
  const std::int64_t height = out.shape[2], width = out.shape[3];
  const auto at = [&](std::int64_t y, std::int64_t x) -> std::int64_t {
    return source[static_cast<std::size_t>(y * width + x)] - 1;
  };
  s.rows.clear(), s.columns.clear();
  for (std::int64_t y = 0; y < height; y++) s.rows.push_back(at(y, 0) / in.w);
  for (std::int64_t x = 0; x < width; x++) s.columns.push_back(at(0, x) % in.w);
  for (std::int64_t y = 0; y < height; y++)
    for (std::int64_t x = 0; x < width; x++)
      check(at(y, x) ==
                s.rows[static_cast<std::size_t>(y)] * in.w + s.columns[static_cast<std::size_t>(x)],
            "a nearest-neighbour Resize that is not separable");
}

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::resize);
  if (n.spec.function != "nearest") out.value("its function", n.spec.function, "nearest");
  const TensorType &x = n.type(n.data()), &y = n.type(n.result());
  if (x.rank() != 4)
    out.range(str("the rank of '", n.graph[n.data()].name, "'"), x.rank(), 4, 4,
              "images are resized for");
  if (!(x.quant == y.quant)) out.scales(n.graph[n.data()].name, n.graph[n.result()].name);
  for (std::size_t i = 1; i < n.node.inputs.size(); i++)
    if (n.node.input(i) != no_value && !n.graph.constant(n.node.input(i)))
      out.computed("sizes", n.graph[n.node.input(i)].name);
}

std::vector<Operand> operands(const FormSpec& s) {
  return {{.input = s.data}, {.source = Operand::Source::made}};
}

Span sources(const std::vector<std::int64_t>& map, Span out) {
  const auto [low, high] = std::minmax_element(map.begin() + out.from, map.begin() + out.to);
  return {*low, *high + 1};
}

Box reach(const FormNode& n, std::size_t operand, const TileBox& tile) {
  if (operand == indices) return {0, tile.out.h, tile.out.w, {0, 1}};
  return {tile.out.n, sources(n.spec.rows, tile.out.h), sources(n.spec.columns, tile.out.w),
          tile.out.c};
}

TileRules rules(const FormNode&, const Machine& m) { return {.channel_grain = sram_alignment(m)}; }

std::int64_t slot_bytes(const FormNode&, std::size_t, const Tiling& t, const Machine& m) {
  return 2 * (t.rows + t.columns) + 2 * sram_alignment(m);
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, vector_unit::resize, t);
}

/// One axis of a tile: a factor and phase such that output o reads (o + phase) / factor, or places
/// in the table.
struct Axis {
  std::uint32_t factor = 0, phase = 0;
  std::vector<std::uint16_t> table;  // factor == 0: sources inside the tile
};

Axis axis_of(const std::vector<std::int64_t>& map, Span out, std::int64_t in, std::int64_t size) {
  const Span from = sources(map, out);
  Axis a;
  const std::int64_t factor = in > 0 && size % in == 0 ? size / in : 0;
  for (std::int64_t phase = 0; phase < factor; phase++) {
    bool fits = true;
    for (std::int64_t i = out.from; i < out.to && fits; i++)
      fits = map[static_cast<std::size_t>(i)] - from.from == (i - out.from + phase) / factor;
    if (!fits) continue;
    a.factor = static_cast<std::uint32_t>(factor);
    a.phase = static_cast<std::uint32_t>(phase);
    return a;
  }
  for (std::int64_t i = out.from; i < out.to; i++)
    a.table.push_back(static_cast<std::uint16_t>(map[static_cast<std::size_t>(i)] - from.from));
  return a;
}

struct Axes {
  Axis rows, columns;
};
Axes axes_of(const FormNode& n, const Box& out) {
  return {axis_of(n.spec.rows, out.h, n.in.h, n.out.h),
          axis_of(n.spec.columns, out.w, n.in.w, n.out.w)};
}

std::vector<std::byte> make(const FormNode& n, std::size_t, const TileBox& tile) {
  const Axes a = axes_of(n, tile.out);
  std::vector<std::uint16_t> all = a.rows.table;
  all.insert(all.end(), a.columns.table.begin(), a.columns.table.end());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const Box &in = e.operand_box(data), &out = task.box.out;
  const Axes a = axes_of(n, out);
  Resize o;
  o.in = e.operand(data), o.out = e.result();
  o.in_h = u32(in.h.size()), o.in_w = u32(in.w.size()), o.channels = u32(in.c.size());
  o.out_h = u32(out.h.size()), o.out_w = u32(out.w.size());
  o.factor_h = a.rows.factor, o.phase_h = a.rows.phase;
  o.factor_w = a.columns.factor, o.phase_w = a.columns.phase;
  const std::uint32_t table = e.operand(indices).address;
  if (o.factor_h == 0) o.rows = table;
  if (o.factor_w == 0) o.columns = table + u32(static_cast<std::int64_t>(a.rows.table.size()) * 2);
  e.emit(Queue::vector, o);
}

}  // namespace

extern constinit const FormDef form_resize = {
    .name = "resize",
    .doc = "Nearest neighbours over height and width.",
    .dtypes = {DType::i8, DType::i16},
    .order = [](const FormNode&) { return std::optional(AxisOrder::channels_first); },
    .prepare = prepare,
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .slot_bytes = slot_bytes,
    .cycles = cycles,
    .make = make,
    .emit = emit,
    .examples = {R"((x: i8[1,3,4,5] q(0.1, 3)) {
      y: i8[1,3,8,10] q(0.1, 3) = Resize(x, _, f32[4]{1.0,1.0,2.0,2.0}, mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor") return y })",
                 R"((x: i16[1,3,4,5] q(0.001, 0)) {
      y: i16[1,3,7,9] q(0.001, 0) = Resize(x, _, _, i64[4]{1,3,7,9}, mode="nearest") return y })",
                 R"((x: i8[1,3,4,5] q(0.1, 3)) {
      y: i8[1,3,7,9] q(0.1, 3) = Resize(x, _, _, i64[4]{1,3,7,9}, mode="nearest") return y })"},
};

}  // namespace longshore::forms
