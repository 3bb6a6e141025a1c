#include "quantize/groups.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

/// Fewer codes than this for an input's whole range, and the join stays float.
constexpr float least_codes = 16;

bool is_join(const Graph& g, const Node& n) {
  return n.op->quant == Quant::join && data_inputs(g, n).size() > 1;
}

}  // namespace

Groups::Groups(const Graph& g, const Selection& selection) : used_(g.values.size()) {
  for (std::size_t i = 0; i < g.values.size(); i++) {
    parent_.push_back(ValueId(i));
    members_.push_back({ValueId(i)});
  }
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    if (!selection.integer(i)) continue;
    const Node& n = g.nodes[i];
    const std::vector<std::size_t> data = data_inputs(g, n);
    for (std::size_t k : data) used_[index(n.inputs[k])] = true;
    for (ValueId v : n.outputs)
      if (v != no_value) used_[index(v)] = true;
    if (n.op->quant != Quant::same || is_join(g, n)) continue;
    for (ValueId v : n.outputs)
      if (v != no_value) unite(n.inputs[data[0]], v);
  }
}

ValueId Groups::of(ValueId v) const {
  while (parent_[index(v)] != v) v = parent_[index(v)];
  return v;
}

void Groups::unite(ValueId a, ValueId b) {
  a = of(a), b = of(b);
  if (a == b) return;
  if (index(b) < index(a)) std::swap(a, b);  // the earlier value stands for the group
  std::vector<ValueId>&to = members_[index(a)], &from = members_[index(b)];
  for (ValueId v : from) parent_[index(v)] = a;  // so that `of` is one step
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

std::vector<ValueId> Groups::members(ValueId v) const {
  std::vector<ValueId> out;
  for (ValueId each : members_[index(of(v))])
    if (used_[index(each)]) out.push_back(each);
  std::ranges::sort(out);
  return out;
}

std::map<ValueId, std::vector<ValueId>> Groups::members() const {
  std::map<ValueId, std::vector<ValueId>> out;
  for (std::size_t i = 0; i < parent_.size(); i++)
    if (used_[i]) out[of(ValueId(i))].push_back(ValueId(i));
  return out;
}

RangeStatistics joined_statistics(std::span<const ValueId> members,
                                  const std::map<ValueId, RangeStatistics>& seen) {
  RangeStatistics all;
  for (ValueId v : members) {
    const auto it = seen.find(v);
    if (it == seen.end()) continue;
    // Members hold the same numbers: extremes join, the second ones are not pushed by copies.
    const RangeStatistics& s = it->second;
    all.lowest = std::min(all.lowest, s.lowest);
    all.highest = std::max(all.highest, s.highest);
    all.second_lowest = std::min(all.second_lowest, s.second_lowest);
    all.second_highest = std::max(all.second_highest, s.second_highest);
    all.elements += s.elements;
    all.not_finite += s.not_finite;
  }
  return all;
}

std::vector<std::string> settle_joins(const Graph& g, Selection& selection, Groups& groups,
                                      const std::map<ValueId, RangeStatistics>& seen) {
  std::vector<std::string> warnings;
  const std::vector<int> uses = use_counts(g);
  const auto range_of = [&](ValueId v) {
    return joined_statistics(groups.members(v), seen).range();
  };
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    const Node& n = g.nodes[i];
    if (!selection.integer(i) || !is_join(g, n)) continue;
    float widest = 0, narrowest = std::numeric_limits<float>::infinity();
    ValueId wide = no_value, narrow = no_value;
    const std::vector<std::size_t> data = data_inputs(g, n);
    for (std::size_t k : data) {
      const float width = range_of(n.inputs[k]).width();
      if (width > widest) widest = width, wide = n.inputs[k];
      if (width > 0 && width < narrowest) narrowest = width, narrow = n.inputs[k];
    }
    if (narrow != no_value && widest / 255 * least_codes > narrowest) {
      const Range a = range_of(wide), b = range_of(narrow);
      warnings.push_back(str(describe(n), " joins '", g[wide].name, "' in [", a.lowest, ", ",
                             a.highest, "] with '", g[narrow].name, "' in [", b.lowest, ", ",
                             b.highest, "]: with one scale the latter would have fewer than ",
                             least_codes,
                             " codes, so the node stays float and the scales stay apart"));
      selection.precision[i] = Precision::f32;
      selection.reasons[i] = {
          FloatReason::Kind::found, "the ranges of its inputs are too far apart for one scale",
          str("bring '", g[wide].name, "' and '", g[narrow].name, "' into one range")};
      continue;
    }
    if (widest > 2 * narrowest) continue;
    const bool private_inputs = std::all_of(data.begin(), data.end(), [&](std::size_t k) {
      const std::vector<ValueId> group = groups.members(n.inputs[k]);
      return std::all_of(group.begin(), group.end(), [&](ValueId v) {
        const Node* def = g.def(v);
        return def && uses[index(v)] == 1 && !(def->op->lowest < def->op->highest) &&
               selection.activations(static_cast<std::size_t>(def - g.nodes.data())) ==
                   selection.activations(i);
      });
    });
    if (!private_inputs) continue;
    for (std::size_t k : data) groups.unite(n.inputs[k], n.outputs[0]);
  }
  return warnings;
}

}  // namespace longshore
