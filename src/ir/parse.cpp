#include <cctype>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "ir/op.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

/// Reads the text form; docs/text.md has the grammar. Works on untrusted text: limits and
/// messages, no assertion.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Graph whole() {
    Scope scope;
    header(scope);
    body(scope);
    space();
    if (at_ < text_.size()) error("the end of the text");
    return std::move(scope.g);
  }

 private:
  struct Scope {
    Graph g;
    std::unordered_map<std::string, ValueId> names;
    Scope* outer = nullptr;
    Subgraph* subgraph = nullptr;  // whose body this is
    struct State {
      std::string input, output;
      std::uint64_t capacity;
    };
    std::vector<State> states;  // found once the outputs are known
  };

  // ---- graphs
  void header(Scope& s) {
    space();
    if (peek() != '(') s.g.name = word();
    expect('(');
    while (!take(')')) {
      const std::string name = word();
      expect(':');
      bind(s, name, s.g.add_input(name, type()));
      take(',');
    }
    for (;;) {
      if (take_word("captures")) {
        expect('(');
        while (!take(')')) {
          const std::string inner = word();
          expect('=');
          capture(s, inner, word());
          take(',');
        }
      } else if (!s.outer && take_word("states")) {
        expect('(');
        while (!take(')')) {
          Scope::State state{word(), {}, 0};
          expect('=');
          state.output = word();
          if (std::isdigit(static_cast<unsigned char>(peek())))
            state.capacity = chars<std::uint64_t>("a number of bytes");
          s.states.push_back(std::move(state));
          take(',');
        }
      } else if (take_word("numbers")) {
        expect('=');
        const std::string mode = word();
        if (mode == "fixed31_single")
          s.g.numbers = Rounding::fixed31_single;
        else if (mode == "fixed31_double")
          s.g.numbers = Rounding::fixed31_double;
        else if (mode != "f32_even")
          error("f32_even, fixed31_single or fixed31_double");
      } else {
        return;
      }
    }
  }

  void body(Scope& s) {
    if (depth_++ > deepest_nesting) error(str("at most ", deepest_nesting, " nested graphs"));
    expect('{');
    while (!take_word("return")) statement(s);
    do s.g.outputs.push_back(reference(s));
    while (take(','));
    expect('}');
    for (const Scope::State& state : s.states)
      s.g.states.push_back({place(s.g, s.g.inputs, state.input, "input"),
                            place(s.g, s.g.outputs, state.output, "output"), state.capacity});
    depth_--;
  }

  static std::uint32_t place(const Graph& g, const std::vector<ValueId>& list,
                             const std::string& name, const char* what) {
    for (std::size_t i = 0; i < list.size(); i++)
      if (g[list[i]].name == name) return static_cast<std::uint32_t>(i);
    fail(Code::bad_model, "a state names '", name, "', which is no ", what, " of the graph");
  }

  void statement(Scope& s) {
    std::vector<std::pair<std::string, std::optional<TensorType>>> outs;
    do {
      if (take_word("_")) {
        outs.emplace_back();
        continue;
      }
      std::string name = word();
      std::optional<TensorType> t;
      if (take(':')) t = type();
      outs.emplace_back(std::move(name), std::move(t));
    } while (take(','));
    expect('=');
    if (literal_ahead()) {
      if (outs.size() != 1) error("one name for one constant");
      bind(s, outs[0].first, constant(s, outs[0].first));
      return;
    }
    Node node;
    const std::size_t begin = at_;
    node.op = &op_named(op_name());
    expect('(');
    while (!take(')')) {
      argument(s, node);
      take(',');
    }
    for (std::string_view next = peek_word(); !next.empty() && is_graph(*node.op, next);
         next = peek_word()) {
      Subgraph sub;
      sub.name = word();
      expect('=');
      Scope inner;
      inner.outer = &s;
      inner.subgraph = &sub;
      header(inner);
      body(inner);
      sub.body = std::move(inner.g);
      node.subgraphs.push_back(std::move(sub));
    }
    std::ranges::sort(node.subgraphs, {}, &Subgraph::name);
    node.origin.name = outs[0].first;
    if (take('@')) {
      node.origin.name = quoted();
      if (std::isdigit(static_cast<unsigned char>(peek())))
        node.origin.opset = static_cast<int>(integer());
      if (peek() == '"') node.origin.op = quoted();
    }
    for (auto& [name, t] : outs) {
      if (name.empty()) {
        node.outputs.push_back(no_value);
        continue;
      }
      const ValueId v = s.g.add_value(name, t.value_or(TensorType{}));
      bind(s, name, v);
      node.outputs.push_back(v);
    }
    try {
      s.g.add_node(std::move(node), 0);
    } catch (const Error& e) {
      fail(e.code(), e.what(), " (text, byte ", begin, ")");
    }
  }

  static bool is_graph(const OpDef& op, std::string_view name) {
    for (const AttributeSpec& a : op.schema.attributes)
      if (a.name == name) return a.kind == AttributeKind::graph;
    return false;
  }

  void argument(Scope& s, Node& node) {
    if (take_word("_")) {
      node.inputs.push_back(no_value);
      return;
    }
    if (literal_ahead()) {
      node.inputs.push_back(constant(s, {}));
      return;
    }
    const std::size_t before = at_;
    const std::string name = word();
    if (!take('=')) {
      at_ = before;
      node.inputs.push_back(reference(s));
      return;
    }
    AttributeKind kind = AttributeKind::integer;
    bool found = false;
    for (const AttributeSpec& a : node.op->schema.attributes)
      if (a.name == name) kind = a.kind, found = true;
    if (!found)
      fail(Code::bad_model, qualified_name(*node.op), " has no attribute '", name, "' (text, byte ",
           before, ")");
    node.attributes.set(name, value(kind));
  }

  Attribute::Value value(AttributeKind kind) {
    switch (kind) {
      case AttributeKind::integer:
        return integer();
      case AttributeKind::real:
        return static_cast<float>(number());
      case AttributeKind::text:
        return quoted();
      case AttributeKind::integers:
        return list<std::int64_t>([&] { return integer(); });
      case AttributeKind::reals:
        return list<float>([&] { return static_cast<float>(number()); });
      case AttributeKind::texts:
        return list<std::string>([&] { return quoted(); });
      case AttributeKind::tensor: {
        const TensorType t = type();
        return literal(t);
      }
      case AttributeKind::graph:
        break;
    }
    error("a subgraph after the arguments");
  }

  template <class T, class F>
  std::vector<T> list(F&& item) {
    std::vector<T> out;
    expect('[');
    while (!take(']')) {
      out.push_back(item());
      take(',');
    }
    return out;
  }

  // ---- values
  void bind(Scope& s, const std::string& name, ValueId v) {
    if (!s.names.emplace(name, v).second)
      fail(Code::bad_model, "the name '", name, "' is given twice");
  }

  ValueId capture(Scope& s, const std::string& inner, const std::string& outer) {
    if (!s.outer) fail(Code::bad_model, "no value is named '", outer, "'");
    const ValueId from = lookup(*s.outer, outer);
    s.subgraph->captures.push_back(from);
    const ValueId v = s.g.add_captured(inner, s.outer->g[from].type);
    bind(s, inner, v);
    return v;
  }

  /// A name of this graph, or of a surrounding one, which makes it a capture.
  ValueId lookup(Scope& s, const std::string& name) {
    if (auto it = s.names.find(name); it != s.names.end()) return it->second;
    return capture(s, name, name);
  }
  ValueId reference(Scope& s) {
    const std::string name = word();
    return lookup(s, name);
  }

  ValueId constant(Scope& s, std::string_view name) {
    const TensorType t = type();
    const ValueId v = s.g.add_constant(name, literal(t));
    s.g[v].type = t;
    return v;
  }

  /// One element of a constant.
  template <class T>
  T element() {
    if constexpr (std::is_same_v<T, Bool8>) {
      if (take_word("true")) return T(true);
      if (take_word("false")) return T(false);
      return T(integer() != 0);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      return chars<std::uint64_t>("an integer");
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(integer());
    } else if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(chars<float>("a number"));
    } else if constexpr (std::is_same_v<T, double>) {
      return number();
    } else if constexpr (std::is_constructible_v<T, std::int64_t> &&
                         !std::is_convertible_v<T, float>) {
      return T(integer());
    } else {
      return T(number());
    }
  }

  Tensor literal(const TensorType& t) {
    const std::optional<Shape> shape = t.shape();
    if (!shape) error("known dims for a constant");
    const std::int64_t n = checked_elements(*shape, std::int64_t{1} << 28);
    if (n < 0) error("a constant of at most 2^28 elements");
    if (!type_set::any.has(t.dtype)) error("an element type");
    const std::size_t size = size_bytes(t.dtype);
    std::vector<std::byte> bytes;
    std::int64_t count = 0;
    expect('{');
    while (!take('}')) {
      if (count++ >= n) error("no more elements than the dims say");
      const auto append = [&]<class T>() {
        const T x = element<T>();
        const auto* first = reinterpret_cast<const std::byte*>(&x);
        bytes.insert(bytes.end(), first, first + sizeof(T));
      };
      visit_type(AllTypes{}, t.dtype, append);
      take(',');
    }
    if (count == 1 && n > 1) {  // the same for all
      bytes.resize(static_cast<std::size_t>(n) * size);
      for (; count < n; count++)
        std::memcpy(&bytes[static_cast<std::size_t>(count) * size], bytes.data(), size);
    }
    if (count != n)
      fail(Code::bad_model, "a constant of type ", print(t), " has ", count,
           " elements (text, byte ", at_, ")");
    return {t.dtype, *shape, make_blob(std::move(bytes))};
  }

  TensorType type() {
    TensorType t;
    if (!take('?')) {
      const std::size_t before = at_;
      t.dtype = dtype_named(word());
      if (t.dtype == DType::undefined) {
        at_ = before;
        error("an element type such as f32");
      }
    }
    expect('[');
    if (take('*')) {
      t.ranked = false;
      expect(']');
    } else {
      while (!take(']')) {
        space();
        if (take('?'))
          t.dims.emplace_back();
        else if (std::isdigit(static_cast<unsigned char>(peek())))
          t.dims.emplace_back(integer());
        else
          t.dims.push_back(Dim::named(word()));
        if (t.rank() > max_rank) error("at most 8 dimensions");
        take(',');
      }
    }
    if (take_word("q")) {
      expect('(');
      if (peek() == '[') {
        t.quant.scale = list<float>([&] { return chars<float>("a scale"); });
        take(',');
        for (std::int64_t z : list<std::int64_t>([&] { return integer(); }))
          t.quant.zero_point.push_back(static_cast<std::int32_t>(z));
        take(',');
        if (!take_word("axis")) error("axis=");
        expect('=');
        t.quant.axis = static_cast<int>(integer());
        take(',');
        if (take_word("block")) {
          expect('=');
          t.quant.block = integer();
          if (t.quant.block < 1) error("a block of at least one element");
        }
      } else {
        t.quant.scale = {chars<float>("a scale")};
        take(',');
        t.quant.zero_point = {static_cast<std::int32_t>(integer())};
      }
      expect(')');
      if (t.quant.scale.size() != t.quant.zero_point.size()) error("as many zero points as scales");
    }
    return t;
  }

  /// `f32[` or `?[` begins a type, and only constants begin with a type here.
  bool literal_ahead() {
    space();
    std::size_t end = at_;
    while (end < text_.size() && std::isalnum(static_cast<unsigned char>(text_[end]))) end++;
    return end < text_.size() && text_[end] == '[' &&
           dtype_named(text_.substr(at_, end - at_)) != DType::undefined;
  }

  // ---- tokens
  void space() {
    for (; at_ < text_.size(); at_++) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') at_++;
        if (at_ == text_.size()) return;
      } else if (!std::isspace(static_cast<unsigned char>(text_[at_]))) {
        return;
      }
    }
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) error(std::string("'") + c + "'");
  }
  [[noreturn]] void error(std::string_view expected) {
    space();
    fail(Code::bad_model, "graph text, byte ", at_, ": expected ", expected, ", found '",
         text_.substr(std::min(at_, text_.size()), 20), "'");
  }
  static bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  std::string_view peek_word() {
    space();
    std::size_t end = at_;
    while (end < text_.size() && word_char(text_[end])) end++;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view w) {
    if (peek_word() != w) return false;
    at_ += w.size();
    return true;
  }
  std::string word() {
    if (peek() == '"') return quoted();
    const std::string_view w = peek_word();
    if (w.empty()) error("a name");
    at_ += w.size();
    return std::string(w);
  }
  std::string op_name() {
    std::string out = word();
    while (peek() == '.') {
      at_++;
      out += "." + word();
    }
    return out;
  }
  std::string quoted() {
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        at_++;
        if (text_[at_] == 'x' && at_ + 2 < text_.size()) {
          unsigned code = 0;
          std::from_chars(text_.data() + at_ + 1, text_.data() + at_ + 3, code, 16);
          out += static_cast<char>(code);
          at_ += 3;
          continue;
        }
      }
      out += text_[at_++];
    }
    if (at_ == text_.size()) error("a closing quote");
    at_++;
    return out;
  }
  template <class T>
  T chars(std::string_view what) {
    space();
    T value{};
    const auto [end, code] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc{}) error(what);
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::int64_t integer() { return chars<std::int64_t>("an integer"); }
  double number() { return chars<double>("a number"); }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Graph parse(std::string_view text) { return tidy(infer(Parser(text).whole())); }

}  // namespace longshore
