#include "ir/op.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace longshore {
namespace {

std::string_view plain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

/// Edit distance in which two neighbours that changed places count once, for suggestions.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

}  // namespace

const OpDef* find_op(std::string_view domain, std::string_view name) {
  static const auto table = [] {
    std::map<std::pair<std::string_view, std::string_view>, const OpDef*> t;
    for (const OpDef* op : ops::all()) t[{op->domain, op->name}] = op;
    return t;
  }();
  const auto it = table.find({plain(domain), name});
  return it == table.end() ? nullptr : it->second;
}

const OpDef& op_named(std::string_view qualified) {
  const std::size_t dot = qualified.rfind('.');
  const bool has_domain = dot != std::string_view::npos;
  const OpDef* op = has_domain ? find_op(qualified.substr(0, dot), qualified.substr(dot + 1))
                               : find_op("", qualified);
  if (op) return *op;
  const OpDef* nearest = nullptr;
  std::size_t best =
      std::min<std::size_t>(4, qualified.size() / 2 + 1);  // no guess that shares little
  for (const OpDef* each : ops::all())
    if (const std::size_t d = distance(qualified, qualified_name(*each)); d < best) {
      best = d;
      nearest = each;
    }
  fail(Code::unsupported, "there is no operator '", qualified, "'",
       nearest ? str("; did you mean '", qualified_name(*nearest), "'?") : "");
}

ValueId input_with(const Node& n, InputRole role) {
  const std::optional<std::size_t> i = n.op->schema.input_with(role);
  return i ? n.input(*i) : no_value;
}

ValueId weights_of(const Graph& g, const Node& n) {
  const std::optional<std::size_t> i = n.op->schema.weights();
  return i && g.constant(n.input(*i)) ? n.input(*i) : no_value;
}

std::optional<Activation> activation_of(const Graph& g, const Node& n) {
  return n.op->activation ? n.op->activation({n, g}) : std::nullopt;
}

std::optional<Node> fused_with(const Graph& g, const Node& n, const Activation& activation) {
  const std::string_view name = n.op->fused ? n.op->fused({n, g}) : std::string_view();
  if (name.empty()) return {};
  Node out = n;
  out.op = &op_named(name);
  activation.to(out.attributes);
  return out;
}

std::string integer_form_wanted(const OpDef& op) {
  return str("give ", qualified_name(op), " an integer form (docs/extending.md)");
}

std::string qualified_name(const OpDef& op) {
  return op.domain.empty() ? std::string(op.name) : str(op.domain, ".", op.name);
}

}  // namespace longshore
