// Which NPU nodes become one layer, and which cost nothing.
#include <algorithm>

#include "base/error.hpp"
#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

using forms::extent_of;
using forms::Shows;

constexpr std::size_t most_stages = 4;

class Grouper {
 public:
  Grouper(const Placement& p, const Uses& uses, bool fuse, const std::set<std::size_t>& apart)
      : p_(p), g_(p.graph), uses_(uses), fuse_(fuse), apart_(apart) {
    out_.aliases.resize(g_.values.size());
    gone_.resize(g_.nodes.size());
    taken_.resize(g_.nodes.size());
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      specs_.push_back(p.nodes[i].spec);
      if (npu(i) && form(i).prepare) form(i).prepare(g_, g_.nodes[i], specs_[i]);
    }
  }

  Grouping run() {
    for (std::size_t i = 0; i < g_.nodes.size(); i++) alias(i);
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (shows(i) == Shows::joins) parts(i);
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (npu(i) && !gone_[i] && !taken_[i]) grow(i);
    order();
    return std::move(out_);
  }

 private:
  bool npu(std::size_t i) const { return p_.nodes[i].on_npu(); }
  const forms::FormDef& form(std::size_t i) const { return *p_.nodes[i].form(); }
  Shows shows(std::size_t i) const {
    return npu(i) && form(i).shows ? form(i).shows(specs_[i]) : Shows::nothing;
  }
  ValueId data(std::size_t i) const {
    return g_.nodes[i].input(static_cast<std::size_t>(specs_[i].data));
  }

  bool same_codes(ValueId a, ValueId b) const {
    return g_[a].type.dtype == g_[b].type.dtype && g_[a].type.quant == g_[b].type.quant;
  }

  bool unused(ValueId v) const {
    return v == no_value || (uses_.nodes[index(v)].empty() && !uses_.output[index(v)]);
  }

  /// Needs its bytes together and in the CPU's order: the CPU looks at it or at a view of it.
  bool needs_full(ValueId v) const {
    if (uses_.output[index(v)] || uses_.captured[index(v)]) return true;
    return std::ranges::any_of(uses_.nodes[index(v)], [&](std::size_t user) {
      if (!npu(user)) return true;
      const ValueId to = g_.nodes[user].output();
      if (shows(user) != Shows::whole) return false;
      return !forms::same_walk(g_[v], g_[to]) || needs_full(to);
    });
  }

  /// Views always; slices and transposes unless somebody needs the whole.
  void alias(std::size_t i) {
    const Node& n = g_.nodes[i];
    const ValueId in = n.input(0);
    if (!npu(i)) {  // a view of something in the arena; the step stays for the report
      const bool view = n.op->view && n.outputs.size() == 1 && in != no_value && g_[in].def >= 0 &&
                        g_[in].type.shape() && g_[n.output()].type.shape() &&
                        g_[in].type.dtype == g_[n.output()].type.dtype &&
                        g_[in].type.quant == g_[n.output()].type.quant &&
                        g_[in].type.shape()->elements() == g_[n.output()].type.shape()->elements();
      if (view) out_.aliases[index(n.output())] = {.parent = in, .full = true};
      return;
    }
    if (shows(i) == Shows::whole) {
      out_.aliases[index(n.output())] = {.parent = data(i), .full = true};
      gone_[i] = true;
    }
    if (shows(i) != Shows::takes) return;
    if (const std::optional<MoveMap> back = written_back(i)) {
      out_.aliases[index(data(i))] = {.parent = n.output(), .part = true, .map = *back};
      gone_[i] = true;
      return;
    }
    bool all = true;
    for (std::size_t k = 0; k < n.outputs.size(); k++) {
      const ValueId v = n.outputs[k];
      if (unused(v)) continue;
      const std::optional<MoveMap> map =
          needs_full(v) ? std::nullopt : forms::move_map(g_, n, specs_[i], k);
      if (map)
        out_.aliases[index(v)] = {.parent = data(i), .map = *map};
      else
        all = false;
    }
    gone_[i] = all;
  }

  /// Whether layers write the node's results, element by element.
  bool makes(std::size_t i) const { return shows(i) == Shows::nothing || shows(i) == Shows::joins; }

  /// Of a move of all elements whose result is needed whole: where those of its input lie in it, so
  /// that the layers that make them write them there.
  std::optional<MoveMap> written_back(std::size_t i) const {
    const Node& n = g_.nodes[i];
    const ValueId from = data(i), to = n.output();
    const int def = g_[from].def;
    if (n.outputs.size() != 1 || !needs_full(to) || def < 0 ||
        !npu(static_cast<std::size_t>(def)) || !makes(static_cast<std::size_t>(def)) ||
        needs_full(from) || uses_.nodes[index(from)].size() != 1 ||
        g_[from].type.shape()->elements() != g_[to].type.shape()->elements())
      return {};
    const std::optional<MoveMap> map = forms::move_map(g_, n, specs_[i], 0);
    return map ? forms::inverse(*map, *extent_of(g_[from]), *extent_of(g_[to])) : std::nullopt;
  }

  /// Where each input of a join begins in the whole, NHWC.
  std::array<std::int64_t, 4> part_start(std::size_t i, std::size_t input) const {
    const Node& n = g_.nodes[i];
    const auto axis = static_cast<std::size_t>(
        forms::nhwc_axis(g_[n.output()].order, g_[n.output()].type.rank(), specs_[i].axis));
    std::array<std::int64_t, 4> at{};
    for (std::size_t k = 0; k < input; k++) {
      const Extent e = *extent_of(g_[n.inputs[k]]);
      at[axis] += std::array{e.n, e.h, e.w, e.c}[axis];
    }
    return at;
  }

  /// Parts that layers write straight into the whole.
  void parts(std::size_t i) {
    const Node& n = g_.nodes[i];
    bool all = true;
    for (std::size_t k = 0; k < n.inputs.size(); k++) {
      const ValueId v = n.inputs[k];
      const int def = g_[v].def;
      const bool free = def >= 0 && npu(static_cast<std::size_t>(def)) && !needs_full(v) &&
                        out_.aliases[index(v)].parent == no_value && same_codes(v, n.output()) &&
                        std::ranges::count(n.inputs, v) == 1;
      if (free)
        out_.aliases[index(v)] = {.parent = n.output(),
                                  .part = true,
                                  .map = {part_start(i, k), {1, 1, 1, 1}, {0, 1, 2, 3}}};
      else
        all = false;
    }
    gone_[i] = all;
  }

  /// A stage that carries input `data` to output `result` of a node, with another scale if need be.
  Stage carry(std::size_t i, std::size_t input, std::size_t result) const {
    const Node& n = g_.nodes[i];
    const bool rescale = !same_codes(n.inputs[input], n.outputs[result]);
    const forms::FormDef& form = rescale ? forms::rescaling() : forms::copying();
    FormSpec spec;
    spec.form = form.name;
    spec.data = static_cast<int>(input);
    spec.result = static_cast<int>(result);
    return {.node = i, .form = &form, .spec = std::move(spec)};
  }

  void grow(std::size_t i) {
    const Node& n = g_.nodes[i];
    taken_[i] = true;
    const auto walked = static_cast<std::size_t>(specs_[i].data);
    if (shows(i) == Shows::joins) {
      for (std::size_t k = 0; k < n.inputs.size(); k++) {
        const Alias& a = out_.aliases[index(n.inputs[k])];
        if ((a.part && a.parent == n.output()) || absorbed_.contains({i, k})) continue;
        out_.layers.push_back({.stages = {carry(i, k, 0)}, .part = part_start(i, k)});
      }
    } else if (shows(i) == Shows::takes) {
      for (std::size_t k = 0; k < n.outputs.size(); k++)
        if (!unused(n.outputs[k]) && out_.aliases[index(n.outputs[k])].parent == no_value)
          out_.layers.push_back({.stages = {carry(i, walked, k)}});
    } else {
      Layer layer;
      layer.stages.push_back({.node = i, .form = &form(i), .spec = specs_[i]});
      walk_full_operand(layer.stages.back());
      if (fuse_ && form(i).leads && !apart_.contains(i)) extend(layer, n.output());
      out_.layers.push_back(std::move(layer));
    }
  }

  /// Of two operands the one that has the extents of the result is walked.
  void walk_full_operand(Stage& s) const {
    const std::vector<forms::Operand> operands = s.form->operands(s.spec);
    if (s.spec.other < 0 ||
        std::ranges::none_of(operands, [](const forms::Operand& o) { return o.broadcast; }))
      return;
    const Node& n = g_.nodes[s.node];
    const auto full = [&](int role) {
      const ValueId v = n.input(static_cast<std::size_t>(role));
      return !g_.constant(v) &&
             forms::aligned_extent(g_, v, n.output()) == *extent_of(g_[n.output()]);
    };
    if (!full(s.spec.data)) std::swap(s.spec.data, s.spec.other);
  }

  void extend(Layer& layer, ValueId v) {
    while (layer.stages.size() < most_stages) {
      if (uses_.output[index(v)] || uses_.captured[index(v)] || uses_.nodes[index(v)].size() != 1)
        return;
      const std::size_t user = uses_.nodes[index(v)].front();
      if (!npu(user) || taken_[user] || gone_[user] || apart_.contains(user)) return;
      const Node& n = g_.nodes[user];
      if (shows(user) == Shows::joins) return rescale_into_join(layer, user, v);
      if (!form(user).follows) return;
      Stage stage{.node = user, .form = &form(user), .spec = specs_[user]};
      if (stage.spec.other >= 0 && n.input(static_cast<std::size_t>(stage.spec.other)) == v)
        std::swap(stage.spec.data, stage.spec.other);
      // The tile is walked as it lies: the same extents, whatever the ranks.
      if (n.input(static_cast<std::size_t>(stage.spec.data)) != v ||
          !forms::same_walk(g_[v], g_[n.output()]) ||
          forms::aligned_extent(g_, v, n.output()) != *extent_of(g_[n.output()]))
        return;
      taken_[user] = true;
      layer.stages.push_back(std::move(stage));
      v = n.output();
    }
  }

  /// A part of a join with another scale: rescaled in SRAM and written straight into the whole.
  void rescale_into_join(Layer& layer, std::size_t user, ValueId v) {
    const Node& n = g_.nodes[user];
    if (same_codes(v, n.output())) return;
    const auto input = static_cast<std::size_t>(std::ranges::find(n.inputs, v) - n.inputs.begin());
    layer.stages.push_back(carry(user, input, 0));
    layer.part = part_start(user, input);
    absorbed_.insert({user, input});
  }

  void order() {
    std::ranges::stable_sort(out_.layers, {}, [](const Layer& l) { return l.stages.back().node; });
    std::size_t next = 0;
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (!npu(i)) out_.steps.push_back({false, i});
      for (; next < out_.layers.size() && out_.layers[next].stages.back().node == i; next++)
        out_.steps.push_back({true, next});
    }
    check(next == out_.layers.size(), "a layer without a place in the order");
  }

  const Placement& p_;
  const Graph& g_;
  const Uses& uses_;
  const bool fuse_;
  const std::set<std::size_t>& apart_;
  Grouping out_;
  std::vector<FormSpec> specs_;
  std::vector<bool> taken_, gone_;  // gone: an alias, nothing runs
  /// Parts of joins that the layer of their producer writes.
  std::set<std::pair<std::size_t, std::size_t>> absorbed_;
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

}  // namespace longshore::plan
