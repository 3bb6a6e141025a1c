// Where values lie in DRAM: NHWC for what only the NPU touches, row-major for what the CPU sees.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "plan/stages.hpp"
#include "tensor/dtype.hpp"

namespace longshore::plan {
namespace {

using forms::extent_of;
using forms::round_up;
using forms::Shows;

class Memory {
 public:
  Memory(Plan& plan, const Grouping& grouping, const Uses& uses)
      : plan_(plan), g_(plan.placement.graph), grouping_(grouping), uses_(uses) {}

  void run() {
    plan_.values.assign(g_.values.size(), {});
    plan_.dense.assign(g_.values.size(), false);
    fused_.assign(g_.values.size(), false);
    for (const Layer& l : grouping_.layers)
      for (std::size_t s = 0; s + 1 < l.stages.size(); s++)
        fused_[index(form_node(plan_, l.stages[s]).result())] = true;
    stage_inputs();
    for (std::size_t i = 0; i < g_.values.size(); i++)
      if (needs_dense(ValueId(i))) plan_.dense[index(root(ValueId(i)))] = true;
    for (std::size_t i = 0; i < g_.values.size(); i++)
      if (in_arena(ValueId(i))) home(ValueId(i));
    find_lifetimes(plan_, grouping_);
    for (Layer& l : plan_.layers) bind(l);
  }

 private:
  bool npu_node(std::size_t i) const { return plan_.placement.nodes[i].on_npu(); }
  bool staged(ValueId v) const {
    return std::ranges::find(plan_.staged_inputs, v) != plan_.staged_inputs.end();
  }
  const Alias& alias(ValueId v) const { return grouping_.aliases[index(v)]; }

  ValueId root(ValueId v) const {
    while (alias(v).parent != no_value) v = alias(v).parent;
    return v;
  }

  bool in_arena(ValueId v) const {
    const Value& value = g_[v];
    if (g_.constant(v) || !value.type.shape() || fused_[index(v)]) return false;
    return value.def >= 0 || staged(v);
  }

  void stage_inputs() {
    plan_.staged_inputs.clear();
    for (ValueId v : g_.inputs)
      if (std::ranges::any_of(uses_.nodes[index(v)],
                              [&](std::size_t user) { return npu_node(user); }))
        plan_.staged_inputs.push_back(v);
  }

  /// The CPU reads or writes it, or a view gives it other extents than rows of other lengths.
  bool needs_dense(ValueId v) const {
    if (!in_arena(v)) return false;
    const int def = g_[v].def;
    if (def < 0 || !npu_node(static_cast<std::size_t>(def)) || uses_.output[index(v)] ||
        uses_.captured[index(v)])
      return true;
    if (std::ranges::any_of(uses_.nodes[index(v)],
                            [&](std::size_t user) { return !npu_node(user); }))
      return true;
    const Alias& a = alias(v);
    return a.full && !forms::same_walk(g_[v], g_[a.parent]) &&
           !forms::same_pixels(g_[v], g_[a.parent]);
  }

  /// Strides of a whole value; nothing for ranks that only the CPU knows.
  std::array<std::uint64_t, 4> whole_strides(const Value& v, bool dense) const {
    std::array<std::uint64_t, 4> out{};
    const std::optional<Extent> e = extent_of(v);
    if (!e) return out;
    const std::int64_t pixel = round_up(e->c, plan_.placement.target.machine.dma_alignment);
    const std::array<std::int64_t, 4> s =
        dense ? forms::row_major_strides(v)
              : std::array{e->h * e->w * pixel, e->w * pixel, pixel, std::int64_t{1}};
    for (std::size_t i = 0; i < 4; i++)
      out[i] = static_cast<std::uint64_t>(s[i]) * size_bytes(v.type.dtype);
    return out;
  }

  /// The view shows the value's elements as they lie where it has bytes of its own.
  bool whole(const Value& v, const View& view, bool dense) const {
    const std::array<std::uint64_t, 4> own = whole_strides(v, dense);
    const Extent e = *extent_of(v);
    const std::array<std::int64_t, 4> size = {e.n, e.h, e.w, e.c};
    for (std::size_t i = 0; i < 4; i++)
      if (size[i] > 1 && view.stride[i] != own[i]) return false;  // nothing walks an axis of one
    return true;
  }

  View fresh(ValueId v, bool dense) {
    const TensorType& t = g_[v].type;
    View view;
    view.buffer = static_cast<std::uint32_t>(plan_.buffers.size());
    view.stride = whole_strides(g_[v], dense);
    std::uint64_t bytes = static_cast<std::uint64_t>(t.shape()->elements()) * size_bytes(t.dtype);
    if (!dense) bytes = static_cast<std::uint64_t>(extent_of(g_[v])->n) * view.stride[0];
    plan_.buffers.push_back({.bytes = bytes});
    return view;
  }

  const View& home(ValueId v) {
    View& to = plan_.values[index(v)];
    if (to.present()) return to;
    const Alias& a = alias(v);
    const ValueId top = root(v);
    plan_.dense[index(v)] = plan_.dense[index(top)];
    if (a.parent == no_value) return to = fresh(v, plan_.dense[index(top)]);
    const View parent = home(a.parent);
    View view = parent;
    if (a.full) {
      if (!forms::same_walk(g_[v], g_[a.parent])) {
        check(parent.offset == 0 && whole(g_[a.parent], parent, plan_.dense[index(top)]),
              "a view with other dims of a part of something");
        view.stride = whole_strides(g_[v], plan_.dense[index(top)]);
      }
    } else {
      view = shifted(parent, a.map);
    }
    return plan_.values[index(v)] = view;
  }

  /// Where operand `v` lies, in the coordinates of `to`, with which its dims are aligned as numpy
  /// does: each dim keeps its stride.
  View operand_view(ValueId v, ValueId to) const {
    View view;
    if (g_.constant(v)) {
      view.constant = v;
      view.stride = whole_strides(g_[v], true);
    } else {
      view = plan_.values[index(v)];
    }
    const int own = g_[v].type.rank(), rank = g_[to].type.rank();
    std::array<std::uint64_t, 4> stride{};
    for (int i = 0; i < own; i++)
      stride[static_cast<std::size_t>(forms::nhwc_axis(g_[to].order, rank, rank - own + i))] =
          view.stride[static_cast<std::size_t>(forms::nhwc_axis(g_[v].order, own, i))];
    view.stride = stride;
    return view;
  }

  /// Computed matrices as weights: rows are output channels, channels are inputs.
  View matrix_view(ValueId v, bool by_input, Extent& extent) const {
    View view = plan_.values[index(v)];
    const std::array<std::uint64_t, 4> s = view.stride;
    const Shape dims = *g_[v].type.shape();
    const auto along = [&](int axis) {
      return s[static_cast<std::size_t>(forms::nhwc_axis(g_[v].order, dims.rank, axis))];
    };
    const int row = dims.rank - 2, column = dims.rank - 1;
    const int in = by_input ? row : column, out = by_input ? column : row;
    extent = {dims.product(0, row), dims[out], 1, dims[in]};
    view.stride = {row > 0 ? along(row - 1) : 0, along(out), along(out), along(in)};
    return view;
  }

  void operands(Stage& s, bool fused) {
    const Node& n = g_.nodes[s.node];
    const ValueId to = n.output(static_cast<std::size_t>(s.spec.result));
    for (const forms::Operand& o : s.form->operands(s.spec)) {
      StageOperand operand{.what = o};
      const bool loaded =
          o.source == forms::Operand::Source::value || o.source == forms::Operand::Source::inside;
      if (loaded) {
        const ValueId v = n.input(static_cast<std::size_t>(o.input));
        operand.chained = fused && o.input == s.spec.data;
        operand.extent = o.broadcast ? forms::aligned_extent(g_, v, to) : *extent_of(g_[v]);
        if (o.matrix) {
          operand.view = matrix_view(v, s.spec.weights_by_input, operand.extent);
        } else if (!operand.chained) {
          operand.view = operand_view(v, o.broadcast ? to : v);
        }
      }
      s.operands.push_back(std::move(operand));
    }
  }

  void bind(Layer& l) {
    for (std::size_t i = 0; i < l.stages.size(); i++) {
      Stage& s = l.stages[i];
      const FormNode n = form_node(plan_, s);
      operands(s, i > 0);
      s.in = i > 0 ? l.stages[i - 1].out : *extent_of(g_[n.data()]);
      for (const StageOperand& o : s.operands)
        if (i == 0 && o.what.broadcast && o.what.input == s.spec.data) s.in = o.extent;
      s.out = *extent_of(g_[n.result()]);
      // A part of a join is as large as its input; a copy walks both sides alike.
      const Node& node = g_.nodes[s.node];
      const NodePlacement& whole = plan_.placement.nodes[s.node];
      const Shows shows =
          whole.form() && whole.form()->shows ? whole.form()->shows(whole.spec) : Shows::nothing;
      if (shows == Shows::joins) s.out = s.in;
      if (shows == Shows::takes) {
        const std::optional<MoveMap> map =
            forms::move_map(g_, node, whole.spec, static_cast<std::size_t>(s.spec.result));
        check(map.has_value(), "a move that no strides describe");
        for (StageOperand& o : s.operands) {
          if (!o.view.present()) continue;
          o.view = shifted(o.view, *map);
          o.extent = s.out;
        }
        s.in = s.out;
      }
    }
    l.to = plan_.values[index(layer_result(plan_, l))];
    for (std::size_t i = 0; i < 4; i++)
      l.to.offset += static_cast<std::uint64_t>(l.part[i]) * l.to.stride[i];
  }

  /// The view through a map of positions.
  static View shifted(const View& parent, const MoveMap& map) {
    View view = parent;
    for (std::size_t i = 0; i < 4; i++) {
      view.offset += static_cast<std::uint64_t>(map.start[i]) * parent.stride[i];
      view.stride[i] = static_cast<std::uint64_t>(map.step[i]) *
                       parent.stride[static_cast<std::size_t>(map.axis[i])];
    }
    return view;
  }

  Plan& plan_;
  const Graph& g_;
  const Grouping& grouping_;
  const Uses& uses_;
  std::vector<bool> fused_;
};

}  // namespace

void place_in_memory(Plan& plan, const Grouping& grouping, const Uses& uses) {
  plan.buffers.clear();
  plan.layers = grouping.layers;
  plan.aliases = grouping.aliases;
  Memory(plan, grouping, uses).run();
  place_buffers(plan);
}

void find_lifetimes(Plan& plan, const Grouping& grouping) {
  const Graph& g = plan.placement.graph;
  const auto end = static_cast<std::uint32_t>(grouping.steps.size() + 1);
  for (Buffer& b : plan.buffers) b.first = end, b.last = 0;
  const auto use = [&](ValueId v, std::size_t step) {
    if (v == no_value || !plan.values[index(v)].present()) return;
    Buffer& b = plan.buffers[plan.values[index(v)].buffer];
    b.first = std::min(b.first, static_cast<std::uint32_t>(step));
    b.last = std::max(b.last, static_cast<std::uint32_t>(step));
  };
  for (ValueId v : plan.staged_inputs) use(v, 0);
  for (std::size_t i = 0; i < grouping.steps.size(); i++) {
    const auto node = [&](const Node& n) {
      for (ValueId v : n.inputs) use(v, i + 1);
      for (ValueId v : n.outputs) use(v, i + 1);
      for (const Subgraph& s : n.subgraphs)
        for (ValueId v : s.captures) use(v, i + 1);
    };
    if (!grouping.steps[i].npu)
      node(g.nodes[grouping.steps[i].index]);
    else
      for (const Stage& s : plan.layers[grouping.steps[i].index].stages) node(g.nodes[s.node]);
  }
  for (ValueId v : g.outputs) use(v, end);
  // Values that nothing uses still have a place.
  for (Buffer& b : plan.buffers)
    if (b.first > b.last) b.first = 0, b.last = end;
}

void place_buffers(Plan& plan) {
  // Whole cache lines, so that cleaning one buffer never touches another.
  plan.arena = plan_arena(plan.buffers, std::lcm<std::uint64_t, std::uint64_t>(
                                            64, plan.placement.target.machine.cache_line_bytes));
}

}  // namespace longshore::plan
