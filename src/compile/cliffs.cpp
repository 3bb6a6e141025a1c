#include "compile/cliffs.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace longshore::compile {
namespace {

/// The axis of a value's dims; -1: it has none of that.
int axis_of(const Value& v, Varied what) {
  const int rank = v.type.rank();
  const bool first = v.order == AxisOrder::channels_first && rank > 2;
  if (what == Varied::input_channels || what == Varied::output_channels)
    return rank < 2 ? -1 : first ? 1 : rank - 1;
  if (rank == 4) return (first ? 2 : 1) + (what == Varied::columns ? 1 : 0);
  return rank == 3 && !first && what == Varied::rows ? 1 : -1;
}

/// The axis of the weight matrix (or filters) that input or output channels run along.
std::size_t weight_axis(const FormSpec& s, bool input) {
  return s.weights_by_input != input ? 1 : 0;
}

Tensor zeros(DType dtype, const Dims& dims) {
  Tensor t;
  t.dtype = dtype;
  for (const Dim& d : dims) t.shape.push(d.value);
  t.blob = make_blob(std::vector<std::byte>(t.bytes()));
  return t;
}

/// The type with one dim changed; scales along that axis follow.
TensorType resized(TensorType t, std::size_t axis, std::int64_t change) {
  t.dims[axis].value += change;
  if (t.quant.scale.size() > 1 && static_cast<std::size_t>(t.quant.axis) == axis) {
    const auto size = static_cast<std::size_t>(t.dims[axis].value);
    t.quant.scale.resize(size, t.quant.scale.front());
    t.quant.zero_point.resize(size, t.quant.zero_point.front());
  }
  return t;
}

/// A node that lets channels move between the places that pixels and planes have in memory.
ValueId rearranged(Graph& g, ValueId v, bool to_planes) {
  static const Graph parts = parse(
      "(x: f32[1,2,3,4]) { a: f32[1,4,2,3] = Transpose(x, perm=[0,3,1,2])\n"
      "b: f32[1,2,3,4] = Transpose(a, perm=[0,2,3,1]) return b }");
  Node node = parts.nodes[to_planes ? 0 : 1];
  const TensorType& from = g[v].type;
  TensorType to = from;
  const std::array<std::size_t, 4> order =
      to_planes ? std::array<std::size_t, 4>{0, 3, 1, 2} : std::array<std::size_t, 4>{0, 2, 3, 1};
  for (std::size_t i = 0; i < 4; i++) to.dims[i] = from.dims[order[i]];
  node.inputs = {v};
  node.outputs = {g.add_value("", to)};
  g.add_node(node);
  return node.outputs.front();
}

/// The node alone. Throws where it does not allow that size.
Graph alone(const Placement& p, std::size_t number, Varied what, std::int64_t change) {
  const Graph& from = p.graph;
  Node node = from.nodes[number];
  const FormSpec& spec = p.nodes[number].spec;
  const auto role = [](int input, std::size_t i) { return input == static_cast<int>(i); };
  const ValueId result = node.output(static_cast<std::size_t>(spec.result));
  const int out_axis = axis_of(from[result], Varied::output_channels);
  const std::int64_t outputs = from[result].type.dims[static_cast<std::size_t>(out_axis)].value;
  Graph g;
  g.numbers = from.numbers;
  bool planes = false;
  for (std::size_t i = 0; i < node.inputs.size(); i++) {
    const ValueId v = node.inputs[i];
    if (v == no_value) continue;
    TensorType t = from[v].type;
    const Tensor* constant = from.constant(v);
    if (role(spec.data, i)) {
      if (const int axis = axis_of(from[v], what); what != Varied::output_channels && axis >= 0)
        t = resized(t, static_cast<std::size_t>(axis), change);
      planes = t.rank() == 4 && from[v].order == AxisOrder::channels_first;
      TensorType input = t;
      if (planes) input.dims = {t.dims[0], t.dims[2], t.dims[3], t.dims[1]};
      node.inputs[i] = g.add_input("x", input);
      if (planes) node.inputs[i] = rearranged(g, node.inputs[i], true);
      g[node.inputs[i]].order = from[v].order;
      continue;
    }
    const bool channels = what == Varied::input_channels || what == Varied::output_channels;
    if (role(spec.weights, i) && channels)
      t = resized(t, weight_axis(spec, what == Varied::input_channels), change);
    else if (what == Varied::output_channels && t.rank() > 0 && t.dims.back().value == outputs)
      t = resized(t, t.dims.size() - 1, change);
    if (constant == nullptr) {
      node.inputs[i] = g.add_input("", t);
    } else {
      node.inputs[i] = g.add_constant("", t == from[v].type ? *constant : zeros(t.dtype, t.dims));
      g[node.inputs[i]].type = t;
    }
  }
  TensorType to = from[result].type;
  for (Dim& d : to.dims) d = Dim();
  node.outputs = {g.add_value("y", to)};
  g.add_node(node);
  ValueId y = node.outputs.front();
  if (planes) y = rearranged(g, y, false);
  g.outputs = {y};
  return g;
}

}  // namespace

std::string_view name(Varied what) {
  constexpr std::string_view names[] = {"input channels", "output channels", "rows", "columns"};
  return names[static_cast<int>(what)];
}

std::vector<Cliff> find_cliffs(std::span<const SizeTime> times, double factor) {
  std::vector<Cliff> out;
  for (std::size_t i = 1; i < times.size(); i++) {
    const Cliff c{times[i - 1], times[i]};
    if (c.high.size == c.low.size + 1 && c.low.us > 0 && c.high.us > 0 && c.jump() > factor)
      out.push_back(c);
  }
  return out;
}

std::vector<std::size_t> variable_layers(const Compiled& c) {
  const Placement& p = c.plan.placement;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < p.nodes.size() && i < c.timing.layers.size(); i++) {
    const NodePlacement& n = p.nodes[i];
    const Node& node = p.graph.nodes[i];
    const FormSpec& s = n.spec;
    if (!n.on_npu() || s.weights < 0 || s.groups != 1 || node.outputs.size() != 1) continue;
    const ValueId weights = node.input(static_cast<std::size_t>(s.weights));
    if (!p.graph.constant(weights) || p.graph[weights].type.rank() < 2) continue;
    if (!p.graph[node.output()].type.quantised()) continue;
    if (axis_of(p.graph[node.output()], Varied::output_channels) < 0) continue;
    out.push_back(i);
  }
  std::ranges::stable_sort(out, std::greater{},
                           [&](std::size_t i) { return c.timing.layers[i].time.own_ns(); });
  std::set<std::string> seen;
  std::erase_if(out, [&](std::size_t i) {
    const Node& node = p.graph.nodes[i];
    const FormSpec& s = p.nodes[i].spec;
    std::string key;
    for (const ValueId v : {node.input(static_cast<std::size_t>(s.data)),
                            node.input(static_cast<std::size_t>(s.weights)), node.output()})
      for (const Dim& d : p.graph[v].type.dims) key += str(d.value, ",");
    return !seen.insert(key).second;
  });
  return out;
}

std::int64_t size_of(const Compiled& c, std::size_t node, Varied what) {
  const Placement& p = c.plan.placement;
  const Node& n = p.graph.nodes[node];
  const ValueId v = what == Varied::output_channels
                        ? n.output()
                        : n.input(static_cast<std::size_t>(p.nodes[node].spec.data));
  const int axis = axis_of(p.graph[v], what);
  return axis < 0 ? -1 : p.graph[v].type.dims[static_cast<std::size_t>(axis)].value;
}

std::vector<SizeTime> vary_layer(const Compiled& c, std::size_t node, Varied what, int reach,
                                 const plan::PlanOptions& plan) {
  const std::int64_t size = size_of(c, node, what);
  std::vector<SizeTime> out;
  for (std::int64_t n = std::max<std::int64_t>(1, size - reach); size > 0 && n <= size + reach;
       n++) {
    Options o;
    o.target = c.plan.placement.target;
    o.first = Stage::place;
    o.last = Stage::plan;
    o.place.by_price = false;
    o.plan = plan;
    o.plan.cascade = false;  // nothing to hand on
    try {
      o.model.emplace().graph = alone(c.plan.placement, node, what, n - size);
      const plan::Plan p = compile(o).plan;
      if (std::ranges::all_of(p.placement.nodes, &NodePlacement::on_npu))
        out.push_back({n, lower::task_time(p, p.layers, p.tasks, true).total * 1e-3});
    } catch (const Error& e) {
      if (e.code() == Code::internal) throw;  // else that size is not allowed
    }
  }
  return out;
}

double model_ms(const Options& options, const std::string& name, std::int64_t size) {
  Options o = options;
  o.source.dims[name] = size;
  const Compiled c = compile(o);
  if (c.npu()) return c.timing.total_ns * 1e-6;
  double us = 0;
  for (const NodePlacement& n : c.plan.placement.nodes) us += std::max(n.cpu_us(), 0.0);
  return us * 1e-3;
}

}  // namespace longshore::compile
