#include "ir/codec.hpp"

#include "base/error.hpp"
#include "base/limits.hpp"
#include "ir/op.hpp"
#include "tensor/codec.hpp"

namespace longshore {

namespace {

/// Where constants lie: while writing they are placed, while reading found.
struct Constants {
  const std::function<std::uint64_t(const Tensor&)>* place = nullptr;
  SharedBlob blob;
};

template <class A>
void ids(A& a, std::vector<ValueId>& list) {
  a.list(list, 4, [&](ValueId& v) {
    auto number = static_cast<std::uint32_t>(v);
    a.number(number);
    v = ValueId(number);
  });
}

template <class A>
void fields(A& a, TensorType& t) {
  a.number(t.dtype);
  a.number(t.ranked);
  a.list(t.dims, 12, [&](Dim& d) {
    a.number(d.value);
    a.text(d.symbol);
  });
  longshore::fields(a, t.quant);
  if constexpr (A::reading) {
    if (!a.ok()) return;
    if (t.rank() > max_rank) a.fault("a value has too many dimensions");
    for (const Dim& d : t.dims)
      if (d.value < -1) a.fault("a dimension is negative");
    if (!a.ok() || !t.quantised()) return;
    Shape dims;
    for (const Dim& d : t.dims) dims.push(d.value);
    if (!quant_fits(t.quant.view(), dims))
      a.fault("a value has scales for an axis of another size");
  }
}

template <class A>
void fields(A& a, Value& v, const Constants& constants) {
  a.text(v.name);
  fields(a, v.type);
  bool constant = v.constant.present();
  a.number(constant);
  if (!constant) return;
  a.number(v.constant.dtype);
  longshore::fields(a, v.constant.shape);
  if constexpr (A::reading) {
    std::uint64_t offset = 0;
    a.number(offset);
    if (!a.ok()) return;
    const std::int64_t n = checked_elements(v.constant.shape, std::int64_t{1} << 40);
    const std::size_t size = size_bytes(v.constant.dtype), all = constants.blob->size();
    if (n < 0 || size == 0 || offset % 64 != 0 || offset > all ||
        static_cast<std::size_t>(n) > (all - offset) / size)
      return a.fault("a constant lies outside the constants");
    v.constant.blob = std::make_shared<const Blob>(
        constants.blob->bytes().subspan(static_cast<std::size_t>(offset),
                                        static_cast<std::size_t>(n) * size),
        constants.blob);
  } else {
    a.number((*constants.place)(v.constant));
  }
}

template <class A>
void fields(A& a, Graph& g, const Constants& constants, int depth);

template <class A>
void fields(A& a, Node& n, const Constants& constants, int depth) {
  if constexpr (A::reading) {
    std::string domain, name;
    a.text(domain);
    a.text(name);
    if (!a.ok()) return;
    n.op = find_op(domain, name);
    if (!n.op)
      fail(Code::unsupported, "the bundle's graph uses operator '", domain,
           domain.empty() ? "" : ".", name, "', which this program does not have");
  } else {
    a.text(std::string(n.op->domain));
    a.text(std::string(n.op->name));
  }
  ids(a, n.inputs);
  ids(a, n.outputs);
  longshore::fields(a, n.attributes);
  a.list(n.subgraphs, 16, [&](Subgraph& s) {
    a.text(s.name);
    ids(a, s.captures);
    fields(a, s.body, constants, depth + 1);
  });
  a.text(n.origin.name);
  a.text(n.origin.op);
  std::int32_t opset = n.origin.opset;
  a.number(opset);
  n.origin.opset = opset;
}

template <class A>
void fields(A& a, Graph& g, const Constants& constants, int depth) {
  if constexpr (A::reading)
    if (depth > deepest_nesting) return a.fault("graphs are nested too deep");
  a.text(g.name);
  a.number(g.numbers);
  a.list(g.values, 24, [&](Value& v) { fields(a, v, constants); });
  a.list(g.nodes, 24, [&](Node& n) { fields(a, n, constants, depth); });
  ids(a, g.inputs);
  ids(a, g.outputs);
  ids(a, g.captured);
  longshore::fields(a, g.states);
}

/// Every index is in range, and definitions are recorded: what `verify` needs to look at the rest.
void check_ids(Graph& g) {
  const auto check_list = [&](const std::vector<ValueId>& list, bool may_be_absent) {
    for (ValueId v : list)
      if (index(v) >= g.values.size() && !(may_be_absent && v == no_value))
        fail(Code::bad_model, "the bundle's graph refers to a value that does not exist");
  };
  check_list(g.inputs, false);
  check_list(g.outputs, false);
  check_list(g.captured, false);
  for (const StateSlot& s : g.states)
    if (s.input >= g.inputs.size() || s.output >= g.outputs.size())
      fail(Code::bad_model, "the bundle's graph has a state without an input or output");
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    Node& n = g.nodes[i];
    check_list(n.inputs, true);
    check_list(n.outputs, true);
    for (Subgraph& s : n.subgraphs) {
      check_list(s.captures, false);
      check_ids(s.body);
    }
    for (ValueId v : n.outputs)
      if (v != no_value) g[v].def = static_cast<int>(i);
  }
}

}  // namespace

std::vector<std::byte> encode(const Graph& g,
                              const std::function<std::uint64_t(const Tensor&)>& place) {
  Encoder encoder;
  fields(encoder, const_cast<Graph&>(g), {&place, nullptr}, 0);  // an Encoder only reads
  return encoder.take();
}

Graph decode_graph(std::span<const std::byte> bytes, const SharedBlob& constants) {
  Decoder decoder(bytes);
  Graph g;
  fields(decoder, g, {nullptr, constants}, 0);
  decoder.finish();
  require(decoder.status(), "the bundle's graph");
  check_ids(g);
  try {
    verify(g);
  } catch (const Error& e) {
    fail(Code::bad_model, "the bundle's graph: ", e.what());  // not a bug: the file says so
  }
  return g;
}

}  // namespace longshore
