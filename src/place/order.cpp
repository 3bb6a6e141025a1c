#include "place/order.hpp"

#include <numeric>

#include "place/price.hpp"

namespace longshore {
namespace {

using forms::FormNode;
using forms::Shows;

/// Values that must be walked alike, as sets that grow together.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::size_t> parent_;
};

/// Operands and results that the form walks together. Strides say how a view, a part or an operand
/// of lower rank is walked; those are free.
std::vector<ValueId> walked_together(const FormNode& n, const forms::FormDef& form) {
  const Shows shows = form.shows ? form.shows(n.spec) : Shows::nothing;
  if (shows == Shows::whole || shows == Shows::takes) return {};
  std::vector<ValueId> out = {n.result()};
  const int rank = n.type(n.result()).rank();
  const auto take = [&](ValueId v, bool broadcast) {
    if (v == no_value || n.graph.constant(v)) return;
    if (broadcast && n.type(v).rank() != rank) return;
    out.push_back(v);
  };
  if (shows == Shows::joins) {
    for (ValueId v : n.node.inputs) take(v, false);
    return out;
  }
  for (const forms::Operand& o : form.operands(n.spec))
    if (!o.matrix &&
        (o.source == forms::Operand::Source::value || o.source == forms::Operand::Source::inside))
      take(n.input(o.input), o.broadcast);
  return out;
}

/// A view that leaves channels where they are: between images the first two dims, between rows of
/// features the last.
struct View {
  std::size_t a, b;
  bool first, last;
};
std::optional<View> view_of(const FormNode& n) {
  const TensorType &x = n.type(n.data()), &y = n.type(n.result());
  if (x.rank() < 3 || y.rank() < 3) return {};
  const auto same = [](const Dim& p, const Dim& q) { return p.known() && p == q; };
  return View{index(n.data()), index(n.result()),
              same(x.dims[0], y.dims[0]) && same(x.dims[1], y.dims[1]),
              same(x.dims.back(), y.dims.back())};
}

}  // namespace

void decide_orders(Graph& g, const std::vector<FormSpec>& specs) {
  Sets sets(g.values.size());
  struct Votes {
    double first = 0, last = 0;
  };
  struct Wish {
    std::size_t value;
    AxisOrder order;
    double weight;
  };
  std::vector<Wish> wishes;
  std::vector<View> views;
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    const FormNode n{g, g.nodes[i], specs[i]};
    const forms::FormDef* form = forms::find(specs[i].form);
    if (!form || n.data() == no_value || n.result() == no_value || !n.type(n.data()).ranked ||
        !n.type(n.result()).ranked)
      continue;
    if (form->shows && form->shows(specs[i]) == Shows::whole)
      if (const auto view = view_of(n)) views.push_back(*view);
    const std::vector<ValueId> together = walked_together(n, *form);
    for (ValueId v : together) sets.join(index(v), index(together.front()));
    if (const auto order = form->order ? form->order(n) : std::nullopt)
      wishes.push_back(
          {index(n.data()), *order, 1 + static_cast<double>(node_macs(g, g.nodes[i]))});
  }
  std::vector<Votes> votes(g.values.size());
  for (const Wish& w : wishes) {
    Votes& v = votes[sets.of(w.value)];
    (w.order == AxisOrder::channels_first ? v.first : v.last) += w.weight;
  }
  // Sets without a wish follow those that they are views of.
  const auto silent = [&](std::size_t set) { return votes[set].first == votes[set].last; };
  for (bool changed = true; changed;) {
    changed = false;
    for (const View& view : views)
      for (auto [from, to] : {std::pair(view.a, view.b), std::pair(view.b, view.a)}) {
        from = sets.of(from), to = sets.of(to);
        if (silent(from) || !silent(to)) continue;
        const bool first = votes[from].first > votes[from].last;
        if (first ? !view.first : !view.last) continue;
        (first ? votes[to].first : votes[to].last) += 1;
        changed = true;
      }
  }
  // Without a wish images stay images, and everything else is rows of features.
  std::vector<bool> images(g.values.size());
  for (std::size_t i = 0; i < g.values.size(); i++)
    if (g.values[i].type.ranked && g.values[i].type.rank() > 3) images[sets.of(i)] = true;
  for (std::size_t i = 0; i < g.values.size(); i++) {
    const std::size_t set = sets.of(i);
    const Votes& v = votes[set];
    const bool first = v.first == v.last ? images[set] : v.first > v.last;
    g.values[i].order = first ? AxisOrder::channels_first : AxisOrder::channels_last;
  }
}

}  // namespace longshore
