// What is decided about nodes before they are read: which operators exist, and in which order.
#include <algorithm>
#include <queue>

#include "base/error.hpp"
#include "read/onnx_graph.hpp"

namespace longshore::onnx {

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  return str(plain_domain(domain), "\n", name, "\n", overload);
}

std::string describe(const NodeProto& n) {
  const std::string& name = !n.name().empty()     ? n.name()
                            : n.output_size() > 0 ? n.output(0)
                                                  : n.name();
  const std::string_view domain = plain_domain(n.domain());
  return str("node '", name, "' (", domain, domain.empty() ? "" : ".", n.op_type(), ")");
}

Opsets read_opsets(const google::protobuf::RepeatedPtrField<OperatorSet>& list) {
  Opsets out;
  for (const OperatorSet& set : list) {
    const std::string domain(plain_domain(set.domain()));
    if (set.version() < 0 || set.version() > 1 << 20)
      fail(Code::bad_model, "domain '", domain, "' is imported with opset ", set.version());
    const auto version = static_cast<int>(set.version());
    const auto [it, fresh] = out.emplace(domain, version);
    if (!fresh && it->second != version)
      fail(Code::bad_model, "domain '", domain, "' is imported with opset ", it->second, " and ",
           version);
  }
  return out;
}

namespace {

/// Collects what is missing.
class OperatorCheck {
 public:
  OperatorCheck(const Functions& functions, const ReadLimits& limits)
      : functions_(functions), limits_(limits) {}

  void nodes(NodeList& list, int depth) {
    if (depth > limits_.depth)
      fail(Code::exhausted, "graphs and functions are nested more than ", limits_.depth, " deep");
    for (NodeProto& n : list) {
      if (n.op_type().empty()) fail(Code::bad_model, describe(n), " names no operator");
      for (const AttributeProto& a : n.attribute())
        if (a.has_g())
          nodes(*const_cast<AttributeProto&>(a).mutable_g()->mutable_node(), depth + 1);
      const std::string key = function_key(n.domain(), n.op_type(), n.overload());
      if (const auto f = functions_.find(key); f != functions_.end()) {
        if (seen_.insert(key).second) nodes(*f->second->mutable_node(), depth + 1);
        continue;
      }
      const std::string_view domain = plain_domain(n.domain());
      if (domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc")
        fail(Code::unsupported, describe(n),
             ": the file was saved after ONNX Runtime had optimised it for one kind of ",
             "CPU; save it with at most ORT_ENABLE_EXTENDED, or give the original model");
      if ((domain.empty() && n.op_type() == "Constant") || find_op(domain, n.op_type())) continue;
      Missing& m = missing_[str(domain.empty() ? "ai.onnx" : domain, ".", n.op_type())];
      if (m.count++ == 0) m.first = describe(n);
    }
  }

  void report() const {
    if (missing_.empty()) return;
    std::string text;
    for (const auto& [name, m] : missing_)
      text += str(text.empty() ? "" : "; ", name, " (", m.count,
                  m.count == 1 ? " node: " : " nodes, first: ", m.first, ")");
    fail(Code::unsupported, missing_.size(),
         missing_.size() == 1 ? " operator is" : " operators are", " not supported: ", text);
  }

 private:
  struct Missing {
    std::size_t count = 0;
    std::string first;
  };
  const Functions& functions_;
  const ReadLimits& limits_;
  std::map<std::string, Missing> missing_;
  std::unordered_set<std::string> seen_;
};

/// The names that a subgraph takes from around it.
void free_names(const GraphProto& g, std::vector<const std::string*>& out) {
  std::unordered_set<std::string_view> own;
  for (const ValueInfo& v : g.input()) own.insert(v.name());
  for (const TensorProto& t : g.initializer()) own.insert(t.name());
  for (const SparseTensor& t : g.sparse_initializer()) own.insert(t.values().name());
  for (const NodeProto& n : g.node())
    for (const std::string& name : n.output()) own.insert(name);
  const auto use = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) out.push_back(&name);
  };
  for (const NodeProto& n : g.node()) {
    for (const std::string& name : n.input()) use(name);
    for (const AttributeProto& a : n.attribute()) {
      if (!a.has_g()) continue;
      std::vector<const std::string*> inner;
      free_names(a.g(), inner);
      for (const std::string* name : inner) use(*name);
    }
  }
  for (const ValueInfo& v : g.output()) use(v.name());
}

}  // namespace

void check_operators(ModelProto& model, const Functions& functions, const ReadLimits& limits) {
  OperatorCheck check(functions, limits);
  check.nodes(*model.mutable_graph()->mutable_node(), 0);
  check.report();
}

std::vector<NodeProto*> sorted(NodeList& list, const NodeProto*& moved) {
  const auto n = static_cast<std::size_t>(list.size());
  std::unordered_map<std::string_view, std::size_t> makers;
  for (std::size_t i = 0; i < n; i++)
    for (const std::string& name : list[static_cast<int>(i)].output())
      if (!name.empty() && !makers.emplace(name, i).second)
        fail(Code::bad_model, "value '", name, "' is computed twice, by ",
             describe(list[static_cast<int>(makers[name])]), " and by ",
             describe(list[static_cast<int>(i)]));
  std::vector<std::vector<std::size_t>> users(n), needs(n);
  std::vector<std::size_t> waiting(n);
  for (std::size_t i = 0; i < n; i++) {
    NodeProto& node = list[static_cast<int>(i)];
    const auto depends = [&](const std::string& name) {
      const auto it = makers.find(name);
      if (name.empty() || it == makers.end()) return;
      users[it->second].push_back(i);
      needs[i].push_back(it->second);
      waiting[i]++;
      if (it->second >= i && !moved) moved = &node;
    };
    for (const std::string& name : node.input()) depends(name);
    for (const AttributeProto& a : node.attribute()) {
      if (!a.has_g()) continue;
      std::vector<const std::string*> captured;
      free_names(a.g(), captured);
      for (const std::string* name : captured) depends(*name);
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; i++)
    if (waiting[i] == 0) ready.push(i);
  std::vector<NodeProto*> order;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(&list[static_cast<int>(i)]);
    for (std::size_t user : users[i])
      if (--waiting[user] == 0) ready.push(user);
  }
  if (order.size() < n) {
    // From any waiting node, following inputs that wait leads into a cycle.
    std::size_t at = 0;
    while (waiting[at] == 0) at++;
    std::vector<bool> seen(n);
    std::size_t next = at;
    while (!seen[at]) {
      seen[at] = true;
      next = at;
      at = *std::ranges::find_if(needs[at], [&](std::size_t m) { return waiting[m] > 0; });
    }
    fail(Code::bad_model, "the graph has a cycle: ", describe(list[static_cast<int>(next)]),
         " needs ", describe(list[static_cast<int>(at)]),
         next == at ? ", itself" : ", which needs it in turn");
  }
  return order;
}

}  // namespace longshore::onnx
