// Which NPU nodes become one layer, and which cost nothing.
#include <algorithm>

#include "base/error.hpp"
#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

constexpr std::size_t most_stages = 4;

class Grouper {
 public:
  Grouper(const Placement& p, const Uses& uses, bool fuse, const std::set<std::size_t>& apart)
      : p_(p), g_(p.graph), uses_(uses), fuse_(fuse), apart_(apart) {
    out_.aliases.resize(g_.values.size());
    out_.skipped.resize(g_.nodes.size());
    taken_.resize(g_.nodes.size());
  }

  Grouping run() {
    for (std::size_t i = 0; i < g_.nodes.size(); i++) alias(i);
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (npu(i) && p_.nodes[i].form == Form::move && concat(i)) concat_aliases(i);
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (npu(i) && !out_.skipped[i] && !taken_[i]) grow(i);
    emit_items();
    return std::move(out_);
  }

 private:
  bool npu(std::size_t i) const { return p_.nodes[i].unit == Unit::npu; }
  bool concat(std::size_t i) const { return g_.nodes[i].op->name == "Concat"; }
  bool is_input(ValueId v) const { return std::ranges::find(g_.inputs, v) != g_.inputs.end(); }

  bool unused(ValueId v) const {
    return v == no_value || (uses_.nodes[index(v)].empty() && !uses_.output[index(v)]);
  }

  /// Needs its bytes together and in the CPU's order: the CPU looks at it or at a view of it.
  bool needs_full(ValueId v) const {
    if (uses_.output[index(v)] || uses_.captured[index(v)]) return true;
    return std::ranges::any_of(uses_.nodes[index(v)], [&](std::size_t user) {
      if (!npu(user)) return true;
      const Node& n = g_.nodes[user];
      if (p_.nodes[user].form != Form::view) return false;
      return extent_of(g_[v].type) != extent_of(g_[n.output()].type) || needs_full(n.output());
    });
  }

  /// Views always; slices and transposes unless somebody needs the whole.
  void alias(std::size_t i) {
    const Node& n = g_.nodes[i];
    const ValueId in = n.input(0);
    if (!npu(i)) {  // a view of something in the arena; the step stays for the report
      const bool view = n.op->form == Form::view && n.outputs.size() == 1 && in != no_value &&
                        g_[in].def >= 0 && g_[in].type.shape() && g_[n.output()].type.shape() &&
                        g_[in].type.dtype == g_[n.output()].type.dtype &&
                        g_[in].type.quant == g_[n.output()].type.quant &&
                        g_[in].type.shape()->elements() == g_[n.output()].type.shape()->elements();
      if (view) out_.aliases[index(n.output())] = {in, true, {}};
      return;
    }
    if (p_.nodes[i].form == Form::view) {
      out_.aliases[index(n.output())] = {in, true, {}};
      out_.skipped[i] = true;
      return;
    }
    if (p_.nodes[i].form != Form::move || concat(i) || n.op->name == "Pad") return;
    bool all = true;
    for (std::size_t k = 0; k < n.outputs.size(); k++) {
      const ValueId v = n.outputs[k];
      if (unused(v)) continue;
      const std::optional<MoveMap> map = needs_full(v) ? std::nullopt : move_map(g_, n, k);
      if (map)
        out_.aliases[index(v)] = {in, false, *map};
      else
        all = false;
    }
    out_.skipped[i] = all;
  }

  /// Parts that layers write straight into the whole.
  void concat_aliases(std::size_t i) {
    const Node& n = g_.nodes[i];
    const auto axis = static_cast<std::size_t>(nhwc_axis(g_, n, n.attributes.integer("axis")));
    const TensorType& whole = g_[n.output()].type;
    std::int64_t at = 0;
    bool all = true;
    for (ValueId v : n.inputs) {
      MoveMap map;
      map.axis = {0, 1, 2, 3};
      map.step = {1, 1, 1, 1};
      map.start[axis] = at;
      const Extent e = *extent_of(g_[v].type);
      at += std::array{e.n, e.h, e.w, e.c}[axis];
      const int def = g_[v].def;
      const bool free = def >= 0 && npu(static_cast<std::size_t>(def)) && !needs_full(v) &&
                        out_.aliases[index(v)].parent == no_value &&
                        g_[v].type.quant == whole.quant && std::ranges::count(n.inputs, v) == 1;
      if (free)
        out_.aliases[index(v)] = {n.output(), false, map};
      else
        all = false;
    }
    out_.skipped[i] = all;
  }

  void grow(std::size_t i) {
    const Node& n = g_.nodes[i];
    taken_[i] = true;
    if (concat(i)) {
      for (std::size_t k = 0; k < n.inputs.size(); k++) {
        const Alias& a = out_.aliases[index(n.inputs[k])];
        if ((a.parent == n.output() && !a.full) || absorbed_.contains({i, static_cast<int>(k)}))
          continue;
        piece(i, static_cast<int>(k));
      }
      return;
    }
    if (p_.nodes[i].form == Form::move && n.op->name != "Pad") {
      for (std::size_t k = 0; k < n.outputs.size(); k++)
        if (!unused(n.outputs[k]) && out_.aliases[index(n.outputs[k])].parent == no_value)
          piece(i, static_cast<int>(k));
      return;
    }
    Layer layer;
    layer.stages.push_back({.node = i, .form = p_.nodes[i].form});
    if (p_.nodes[i].form == Form::eltwise) layer.stages.back().side = eltwise_side(n);
    const ValueId first = n.output();
    if (fuse_ && !apart_.contains(i) && n.op->name != "Pad") extend(layer, first);
    out_.layers.push_back(std::move(layer));
  }

  /// The operand that is loaded beside the one that gives the extents.
  int eltwise_side(const Node& n) const {
    const std::optional<Extent> to = extent_of(g_[n.output()].type);
    const bool first_full =
        !g_.constant(n.input(0)) && operand_extent(g_, n.input(0), n.output()) == *to;
    return first_full ? 1 : 0;
  }

  void piece(std::size_t i, int k) {
    Layer layer;
    const Node& n = g_.nodes[i];
    const ValueId from = n.inputs[concat(i) ? static_cast<std::size_t>(k) : 0];
    const ValueId to = n.outputs[concat(i) ? 0 : static_cast<std::size_t>(k)];
    const bool rescale = !(g_[from].type.quant == g_[to].type.quant);
    layer.stages.push_back({.node = i, .form = rescale ? Form::quantise : Form::move});
    layer.piece = k;
    out_.layers.push_back(std::move(layer));
  }

  void extend(Layer& layer, ValueId v) {
    while (layer.stages.size() < most_stages) {
      if (uses_.output[index(v)] || uses_.captured[index(v)] || uses_.nodes[index(v)].size() != 1)
        return;
      const std::size_t user = uses_.nodes[index(v)].front();
      if (!npu(user) || taken_[user] || out_.skipped[user] || apart_.contains(user)) return;
      const Node& n = g_.nodes[user];
      Stage stage{.node = user, .form = p_.nodes[user].form};
      if (stage.form == Form::eltwise) {
        stage.side = n.input(0) == v ? 1 : 0;
        if (operand_extent(g_, v, n.output()) != *extent_of(g_[n.output()].type)) return;
      } else if (stage.form == Form::table || stage.form == Form::quantise) {
        if (n.input(0) != v) return;
      } else {
        rescale_into_concat(layer, user, v);
        return;
      }
      taken_[user] = true;
      layer.stages.push_back(std::move(stage));
      v = n.output();
    }
  }

  /// A part of a Concat with another scale: rescaled in SRAM and written straight into the whole.
  void rescale_into_concat(Layer& layer, std::size_t user, ValueId v) {
    const Node& n = g_.nodes[user];
    if (!concat(user) || g_[v].type.quant == g_[n.output()].type.quant) return;
    layer.piece = static_cast<int>(std::ranges::find(n.inputs, v) - n.inputs.begin());
    layer.stages.push_back({.node = user, .form = Form::quantise});
    absorbed_.insert({user, layer.piece});
  }

  void emit_items() {
    std::ranges::stable_sort(out_.layers, {}, [](const Layer& l) { return l.last(); });
    std::size_t next = 0;
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (!npu(i)) out_.items.push_back({false, i});
      for (; next < out_.layers.size() && out_.layers[next].last() == i; next++)
        out_.items.push_back({true, next});
    }
    check(next == out_.layers.size(), "a layer without a place in the order");
  }

  const Placement& p_;
  const Graph& g_;
  const Uses& uses_;
  const bool fuse_;
  const std::set<std::size_t>& apart_;
  Grouping out_;
  std::vector<bool> taken_;
  std::set<std::pair<std::size_t, int>>
      absorbed_;  // parts of Concats that a producer's layer writes
};

}  // namespace

Uses::Uses(const Graph& g)
    : nodes(g.values.size()), output(g.values.size()), captured(g.values.size()) {
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    for (ValueId v : g.nodes[i].inputs)
      if (v != no_value) nodes[index(v)].push_back(i);
    for (const Subgraph& s : g.nodes[i].subgraphs)
      for (ValueId v : s.captures) captured[index(v)] = true, nodes[index(v)].push_back(i);
  }
  for (ValueId v : g.outputs) output[index(v)] = true;
}

Grouping group(const Placement& p, const Uses& uses, bool fuse,
               const std::set<std::size_t>& apart) {
  return Grouper(p, uses, fuse, apart).run();
}

ValueId head_input(const Graph& g, const Layer& layer) {
  const Stage& head = layer.stages.front();
  const Node& n = g.nodes[head.node];
  if (n.op->name == "Concat") return n.inputs[static_cast<std::size_t>(layer.piece)];
  return n.inputs[head.side == 0 ? 1 : 0];
}

bool into_concat(const Graph& g, const Layer& layer) {
  return layer.piece >= 0 && g.nodes[layer.last()].op->name == "Concat";
}

ValueId layer_output(const Graph& g, const Layer& layer) {
  const Node& n = g.nodes[layer.last()];
  if (layer.piece >= 0 && !into_concat(g, layer))
    return n.outputs[static_cast<std::size_t>(layer.piece)];
  return n.output();
}

}  // namespace longshore::plan
