#include <cmath>

#include <fmt/format.h>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

bool plain(std::string_view s) {
  if (s.empty() || s == "return" || s == "_" || dtype_named(s) != DType::undefined) return false;
  if (!std::isalpha(static_cast<unsigned char>(s[0])) && s[0] != '_') return false;
  for (char c : s)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return s != "inf" && s != "nan" && s != "true" && s != "false";
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (code < 32 || code == 127)
      out += fmt::format("\\x{:02x}", code);
    else
      out += c;
  }
  return out + "\"";
}
std::string word(std::string_view s) { return plain(s) ? std::string(s) : quoted(s); }

/// Shortest text that reads back as the same float; always distinct from an integer.
template <class T>
std::string real(T x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  std::string s = fmt::format("{}", x);
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  return s;
}

template <class Range, class F>
std::string joined(const Range& range, F f) {
  std::string out;
  for (const auto& x : range) {
    if (!out.empty()) out += ", ";
    out += f(x);
  }
  return out;
}

std::string print_shape(const Shape& s) {
  return "[" + joined(s, [](std::int64_t d) { return std::to_string(d); }) + "]";
}

/// Bits as text where a plain number would lose them (NaN payloads do not matter to us).
std::string elements(const Tensor& t) {
  std::string out;
  visit_type(AllTypes{}, t.dtype, [&]<class T>() {
    for (const T& x : t.values<T>()) {
      if (!out.empty()) out += ", ";
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        out += real(x);
      else if constexpr (std::is_same_v<T, Bool8>)
        out += x ? "true" : "false";
      else if constexpr (std::is_convertible_v<T, int> && std::is_integral_v<decltype(+x)>)
        out += std::to_string(x);
      else
        out += real(static_cast<float>(x));
    }
  });
  return out;
}

class Printer {
 public:
  explicit Printer(bool full) : full_(full) {}

  std::string graph(const Graph& g, const std::string& indent, const Graph* outer,
                    const Subgraph* subgraph) {
    std::string out;
    if (!g.name.empty()) out += word(g.name) + " ";
    out += "(" +
           joined(g.inputs, [&](ValueId v) { return word(g[v].name) + ": " + print(g[v].type); }) +
           ")";
    if (subgraph && !g.captured.empty()) {
      out += " captures (";
      for (std::size_t i = 0; i < g.captured.size(); i++)
        out += str(i ? ", " : "", word(g[g.captured[i]].name), " = ",
                   word((*outer)[subgraph->captures[i]].name));
      out += ")";
    }
    if (g.numbers != Rounding::f32_even)
      out += g.numbers == Rounding::fixed31_single ? " numbers=fixed31_single"
                                                   : " numbers=fixed31_double";
    if (!g.states.empty()) {
      const auto state = [&](const StateSlot& s) {
        return word(g[g.inputs[s.input]].name) + " = " + word(g[g.outputs[s.output]].name) +
               (s.capacity > 0 ? str(" ", s.capacity) : "");
      };
      out += " states (" + joined(g.states, state) + ")";
    }
    out += " {\n";
    std::vector<bool> shown(g.values.size());
    const auto constant = [&](ValueId v) {
      if (v == no_value || shown[index(v)] || !g.constant(v)) return;
      shown[index(v)] = true;
      out += indent + "  " + word(g[v].name) + " = " + literal(g[v]) + "\n";
    };
    for (const Node& n : g.nodes) {
      for (ValueId v : n.inputs) constant(v);
      for (const Subgraph& s : n.subgraphs)
        for (ValueId v : s.captures) constant(v);
      out += indent + "  " + node(g, n, indent + "  ") + "\n";
    }
    for (ValueId v : g.outputs) constant(v);
    out += indent + "  return " + joined(g.outputs, [&](ValueId v) { return word(g[v].name); }) +
           "\n" + indent + "}";
    return out;
  }

 private:
  std::string literal(const Value& v) {
    const std::string type = print(v.type);
    if (!full_ && v.constant.elements() > 16) return type + "{...}";
    return type + "{" + elements(v.constant) + "}";
  }
  std::string literal(const Tensor& t) {
    return std::string(name(t.dtype)) + print_shape(t.shape) +
           (!full_ && t.elements() > 16 ? "{...}" : "{" + elements(t) + "}");
  }

  std::string node(const Graph& g, const Node& n, const std::string& indent) {
    const auto name_of = [&](ValueId v) {
      return v == no_value ? std::string("_") : word(g[v].name);
    };
    std::string out = joined(n.outputs, [&](ValueId v) {
      return v == no_value ? std::string("_") : word(g[v].name) + ": " + print(g[v].type);
    });
    std::string args = joined(n.inputs, name_of);
    for (const Attribute& a : n.attributes) {
      if (!args.empty()) args += ", ";
      args += a.name + "=" + value(a);
    }
    out += " = " + qualified_name(*n.op) + "(" + args + ")";
    for (const Subgraph& s : n.subgraphs) out += " " + s.name + "=" + graph(s.body, indent, &g, &s);
    const Origin plain_origin{
        n.outputs.empty() || n.outputs[0] == no_value ? "" : g[n.outputs[0]].name, "", 0};
    if (!(n.origin == plain_origin)) {
      out += " @" + quoted(n.origin.name);
      if (n.origin.opset) out += str(" ", n.origin.opset);
      if (!n.origin.op.empty()) out += " " + quoted(n.origin.op);
    }
    return out;
  }

  std::string value(const Attribute& a) {
    switch (a.kind()) {
      case AttributeKind::integer:
        return std::to_string(std::get<std::int64_t>(a.value));
      case AttributeKind::real:
        return real(std::get<float>(a.value));
      case AttributeKind::text:
        return quoted(std::get<std::string>(a.value));
      case AttributeKind::integers:
        return "[" +
               joined(std::get<Ints>(a.value), [](std::int64_t i) { return std::to_string(i); }) +
               "]";
      case AttributeKind::reals:
        return "[" + joined(std::get<Reals>(a.value), real<float>) + "]";
      case AttributeKind::texts:
        return "[" + joined(std::get<Texts>(a.value), quoted) + "]";
      case AttributeKind::tensor:
        return literal(std::get<Tensor>(a.value));
      case AttributeKind::graph:
        break;
    }
    return "?";
  }

  bool full_;
};

}  // namespace

std::string print(const TensorType& t) {
  std::string out = t.dtype == DType::undefined ? "?" : std::string(name(t.dtype));
  out += t.ranked ? "[" +
                        joined(t.dims,
                               [](const Dim& d) {
                                 return d.known()          ? std::to_string(d.value)
                                        : d.symbol.empty() ? std::string("?")
                                                           : word(d.symbol);
                               }) +
                        "]"
                  : "[*]";
  if (t.quantised()) {
    const bool many = t.quant.scale.size() > 1 || t.quant.block > 0;
    const std::string scales = joined(t.quant.scale, real<float>);
    const std::string zeros =
        joined(t.quant.zero_point, [](std::int32_t z) { return std::to_string(z); });
    const std::string block =
        t.quant.block > 0 ? fmt::format(", block={}", t.quant.block) : std::string();
    out += many ? fmt::format(" q([{}], [{}], axis={}{})", scales, zeros, t.quant.axis, block)
                : fmt::format(" q({}, {})", scales, zeros);
  }
  return out;
}

std::string print(const Graph& g) {
  return Printer(true).graph(tidy(g), "", nullptr, nullptr) + "\n";
}
std::string summary(const Graph& g) {
  return Printer(false).graph(tidy(g), "", nullptr, nullptr) + "\n";
}

}  // namespace longshore
