// Where values lie in DRAM: NHWC for what only the NPU touches, row-major for what the CPU sees.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "plan/stages.hpp"
#include "tensor/dtype.hpp"

namespace longshore::plan {
namespace {

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
        fused_[index(g_.nodes[l.stages[s].node].output())] = true;
    stage_inputs();
    for (std::size_t i = 0; i < g_.values.size(); i++)
      if (needs_dense(ValueId(i))) plan_.dense[index(root(ValueId(i)))] = true;
    for (std::size_t i = 0; i < g_.values.size(); i++)
      if (in_arena(ValueId(i))) home(ValueId(i));
    lifetimes();
    for (Layer& l : plan_.layers) bind(l);
  }

 private:
  bool npu_node(std::size_t i) const { return plan_.placement.nodes[i].unit == Unit::npu; }
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

  /// The CPU reads or writes it, or a view gives it other extents.
  bool needs_dense(ValueId v) const {
    if (!in_arena(v)) return false;
    const int def = g_[v].def;
    if (def < 0 || !npu_node(static_cast<std::size_t>(def)) || uses_.output[index(v)] ||
        uses_.captured[index(v)])
      return true;
    if (std::ranges::any_of(uses_.nodes[index(v)],
                            [&](std::size_t user) { return !npu_node(user); }))
      return true;
    if (std::ranges::any_of(uses_.nodes[index(v)],
                            [&](std::size_t user) { return broadcast_rank(v, user); }))
      return true;
    const Alias& a = alias(v);
    return a.full && extent_of(g_[v].type) != extent_of(g_[a.parent].type);
  }

  /// An operand of lower rank: its dims are read in another order, so it is kept row-major.
  bool broadcast_rank(ValueId v, std::size_t user) const {
    const Node& n = g_.nodes[user];
    return npu_node(user) && plan_.placement.nodes[user].form == Form::eltwise &&
           g_[v].type.rank() != g_[n.output()].type.rank();
  }

  /// Strides of a whole value; nothing for ranks that only the CPU knows.
  std::array<std::uint64_t, 4> whole_strides(const TensorType& t, bool dense) const {
    std::array<std::uint64_t, 4> out{};
    const std::optional<Extent> e = extent_of(t);
    if (!e) return out;
    const auto [n, h, w, c] = *e;
    const std::int64_t pixel = round_up(c, plan_.placement.target.machine.dma_alignment);
    const std::array<std::int64_t, 4> s =
        dense ? std::array{c * h * w, w, std::int64_t{1}, h * w}
              : std::array{h * w * pixel, w * pixel, pixel, std::int64_t{1}};
    for (std::size_t i = 0; i < 4; i++)
      out[i] = static_cast<std::uint64_t>(s[i]) * size_bytes(t.dtype);
    return out;
  }

  View fresh(ValueId v, bool dense) {
    const TensorType& t = g_[v].type;
    View view;
    view.buffer = static_cast<std::uint32_t>(plan_.buffers.size());
    view.stride = whole_strides(t, dense);
    std::uint64_t bytes = static_cast<std::uint64_t>(t.shape()->elements()) * size_bytes(t.dtype);
    if (!dense) bytes = static_cast<std::uint64_t>(extent_of(t)->n) * view.stride[0];
    plan_.buffers.push_back({bytes, std::numeric_limits<std::uint32_t>::max(), 0});
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
      if (extent_of(g_[v].type) != extent_of(g_[a.parent].type)) {
        check(plan_.dense[index(top)] && parent.offset == 0,
              "a view with other dims of something that is not dense");
        view.stride = whole_strides(g_[v].type, true);
      }
    } else {
      for (std::size_t i = 0; i < 4; i++) {
        view.offset += static_cast<std::uint64_t>(a.map.start[i]) * parent.stride[i];
        view.stride[i] = static_cast<std::uint64_t>(a.map.step[i]) *
                         parent.stride[static_cast<std::size_t>(a.map.axis[i])];
      }
    }
    return plan_.values[index(v)] = view;
  }

  void use(ValueId v, std::size_t item) {
    if (v == no_value || !plan_.values[index(v)].present()) return;
    Buffer& b = plan_.buffers[plan_.values[index(v)].buffer];
    b.first = std::min(b.first, static_cast<std::uint32_t>(item));
    b.last = std::max(b.last, static_cast<std::uint32_t>(item));
  }

  void lifetimes() {
    const std::size_t end = plan_.items.size() + 1;
    for (ValueId v : plan_.staged_inputs) use(v, 0);
    for (std::size_t i = 0; i < plan_.items.size(); i++) {
      const auto node = [&](const Node& n) {
        for (ValueId v : n.inputs) use(v, i + 1);
        for (ValueId v : n.outputs) use(v, i + 1);
        for (const Subgraph& s : n.subgraphs)
          for (ValueId v : s.captures) use(v, i + 1);
      };
      if (!plan_.items[i].npu)
        node(g_.nodes[plan_.items[i].index]);
      else
        for (const Stage& s : plan_.layers[plan_.items[i].index].stages) node(g_.nodes[s.node]);
    }
    for (ValueId v : g_.outputs) use(v, end);
    // Values that nothing uses still have a place.
    for (Buffer& b : plan_.buffers)
      if (b.first > b.last) b.first = 0, b.last = static_cast<std::uint32_t>(end);
  }

  View view_of(ValueId v) const {
    if (!g_.constant(v)) return plan_.values[index(v)];
    View view;
    view.constant = v;
    return view;
  }

  void bind(Layer& l) {
    const Node& head = g_.nodes[l.head()];
    const ValueId in = head_input(g_, l), out = layer_output(g_, l);
    l.in = *extent_of(g_[in].type);
    l.from = plan_.values[index(in)];
    l.to = plan_.values[index(out)];
    l.out = *extent_of(g_[out].type);
    if (l.stages.front().form == Form::mac || l.stages.front().form == Form::depthwise ||
        l.stages.front().form == Form::pool)
      l.window = window_of(g_, head);
    l.groups = l.stages.front().form == Form::mac
                   ? std::max<std::int64_t>(head.attributes.integer("group", 1), 1)
                   : 1;
    if (into_concat(g_, l)) {
      const std::array<std::int64_t, 4> start = part_start(g_, l);
      for (std::size_t i = 0; i < 4; i++)
        l.to.offset += static_cast<std::uint64_t>(start[i]) * l.to.stride[i];
      l.out = *extent_of(g_[g_.nodes[l.last()].inputs[static_cast<std::size_t>(l.piece)]].type);
    } else if (l.piece >= 0) {
      const std::optional<MoveMap> map = move_map(g_, head, static_cast<std::size_t>(l.piece));
      check(map.has_value(), "a move that no strides describe");
      const View parent = l.from;
      for (std::size_t i = 0; i < 4; i++) {
        l.from.offset += static_cast<std::uint64_t>(map->start[i]) * parent.stride[i];
        l.from.stride[i] = static_cast<std::uint64_t>(map->step[i]) *
                           parent.stride[static_cast<std::size_t>(map->axis[i])];
      }
      l.in = l.out;
    }
    for (Stage& s : l.stages) {
      if (s.form != Form::eltwise) continue;
      const Node& n = g_.nodes[s.node];
      const ValueId side = n.inputs[static_cast<std::size_t>(s.side)];
      s.side_view = view_of(side);
      s.side_extent = operand_extent(g_, side, n.output());
      if (s.side_view.constant == no_value && !broadcast_rank(side, s.node)) continue;
      const auto [batch, h, w, c] = s.side_extent;
      s.side_view.stride = {static_cast<std::uint64_t>(c * h * w), static_cast<std::uint64_t>(w), 1,
                            static_cast<std::uint64_t>(h * w)};
    }
    if (l.stages.front().form == Form::resize) l.resize = resize_map(g_, head);
    if (head.op->name == "Pad") l.pad = pad_start(g_, head);
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
  plan.items = grouping.items;
  plan.parts.assign(grouping.aliases.size(), {});
  for (const Node& n : plan.placement.graph.nodes)
    if (n.op->name == "Concat")
      for (ValueId v : n.inputs)
        if (const Alias& a = grouping.aliases[index(v)]; a.parent == n.output() && !a.full)
          plan.parts[index(v)] = {a.parent, a.map.start};
  Memory(plan, grouping, uses).run();
  // Whole cache lines, so that cleaning one buffer never touches another.
  plan.arena = plan_arena(plan.buffers, std::lcm<std::uint64_t, std::uint64_t>(
                                            64, plan.placement.target.machine.cache_line_bytes));
}

}  // namespace longshore::plan
