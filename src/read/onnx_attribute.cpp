#include "base/error.hpp"
#include "read/onnx_graph.hpp"

namespace longshore::onnx {
namespace {

/// The numbers of AttributeProto.type.
enum Kind : int { f = 1, i, s, t, g, floats, ints, strings, tensors, graphs, sparse };

/// Old files do not say which field is used.
int kind_of(const AttributeProto& a) {
  if (a.type() != 0) return a.type();
  if (a.has_f()) return f;
  if (a.has_i()) return i;
  if (a.has_s()) return s;
  if (a.has_t()) return t;
  if (a.has_g()) return g;
  if (a.floats_size() > 0) return floats;
  if (a.ints_size() > 0) return ints;
  if (a.strings_size() > 0) return strings;
  if (a.has_sparse_tensor()) return sparse;
  return 0;
}

const AttributeSpec* spec_of(const OpDef& op, std::string_view name) {
  for (const AttributeSpec& a : op.schema.attributes)
    if (a.name == name) return &a;
  return nullptr;
}

}  // namespace

AttributeProto* Importer::resolve(AttributeProto& a, const Surroundings& s, const NodeProto& n) {
  if (a.ref_attr_name().empty()) return &a;
  if (!s.arguments)
    fail(Code::bad_model, describe(n), ": attribute '", a.name(), "' refers to '",
         a.ref_attr_name(), "' of a function, but is in none");
  const auto it = s.arguments->find(a.ref_attr_name());
  return it == s.arguments->end() ? nullptr : it->second;
}

void Importer::read_attribute(Scope& scope, Node& node, const std::string& name, AttributeProto& a,
                              const Surroundings& s, const NodeProto& n) {
  const std::string what = describe(n) + ": attribute '" + name + "'";
  if (name.empty()) fail(Code::bad_model, describe(n), ": an attribute has no name");
  if (node.attributes.has(name)) fail(Code::bad_model, what, " is given twice");
  switch (kind_of(a)) {
    case f:
      node.attributes.set(name, a.f());
      return;
    case i:
      node.attributes.set(name, a.i());
      return;
    case Kind::s:
      node.attributes.set(name, a.s());
      return;
    case t:
      node.attributes.set(name, tensor(*a.mutable_t(), source_, what, false));
      return;
    case floats:
      node.attributes.set(name, Reals(a.floats().begin(), a.floats().end()));
      return;
    case ints:
      node.attributes.set(name, Ints(a.ints().begin(), a.ints().end()));
      return;
    case strings:
      node.attributes.set(name, Texts(a.strings().begin(), a.strings().end()));
      return;
    case g:
      break;
    case 0:
      fail(Code::bad_model, what, " has no value");
    default:
      fail(Code::unsupported, what, " is of kind ", a.type(),
           "; possible are numbers, texts, tensors and graphs");
  }
  const AttributeSpec* spec = spec_of(*node.op, name);
  if (!spec || spec->kind != AttributeKind::graph) fail(Code::bad_model, what, " is a graph");
  for (const Subgraph& other : node.subgraphs)
    if (other.name == name) fail(Code::bad_model, what, " is given twice");
  Subgraph sub;
  sub.name = name;
  std::unordered_set<std::string> taken;
  Scope inner{sub.body, taken, {}, &scope, &sub};
  Surroundings around = s;
  around.depth++;
  if (around.depth > source_.options.limits.depth)
    fail(Code::exhausted, describe(n), ": graphs are nested more than ",
         source_.options.limits.depth, " deep");
  read_graph(inner, *a.mutable_g(), around, nullptr);
  node.subgraphs.push_back(std::move(sub));
}

void Importer::read_constant(Scope& scope, NodeProto& n, const Surroundings& s) {
  if (n.output_size() != 1 || n.attribute_size() != 1)
    fail(Code::bad_model, describe(n), ": one output and one attribute expected, found ",
         n.output_size(), " and ", n.attribute_size());
  AttributeProto& written = *n.mutable_attribute(0);
  AttributeProto* a = resolve(written, s, n);
  if (!a)
    fail(Code::bad_model, describe(n), ": the function was called without '",
         written.ref_attr_name(), "'");
  const std::string what = describe(n);
  Tensor value;
  const std::string& name = written.name();
  if (name == "value")
    value = tensor(*a->mutable_t(), source_, what, may_take(s));
  else if (name == "sparse_value")
    value = dense(*a->mutable_sparse_tensor(), source_, what);
  else if (name == "value_int")
    value = make_int(a->i());
  else if (name == "value_ints")
    value = make_ints(Ints(a->ints().begin(), a->ints().end()));
  else if (name == "value_float")
    value = make_floats(Shape{}, std::vector<float>{a->f()});
  else if (name == "value_floats")
    value = make_floats(Shape{a->floats_size()}, Reals(a->floats().begin(), a->floats().end()));
  else if (name == "value_string" || name == "value_strings")
    fail(Code::unsupported, what, ": it holds strings; Longshore computes with numbers only");
  else
    fail(Code::bad_model, what, ": it has no attribute '", name, "'");
  bind(scope, n.output(0), new_constant(scope, value_name(n.output(0), s), std::move(value)), what);
}

}  // namespace longshore::onnx
