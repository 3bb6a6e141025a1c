#include "random_float_net.hpp"

#include <algorithm>
#include <cmath>

namespace longshore::tests {
namespace {

constexpr std::int64_t most_elements = 3000;

class Builder {
 public:
  explicit Builder(std::mt19937& random) : random_(random) {}

  Graph run() {
    if (!chance(2) || !example()) live_.push_back(start(random_shape()));
    const int steps = pick(1, 6);
    for (int i = 0; i < steps; i++) step();
    g_.outputs.push_back(live_.back());
    for (int i = pick(0, 2); i > 0; i--) {
      const ValueId extra = any();
      if (g_.def(extra) && std::ranges::find(g_.outputs, extra) == g_.outputs.end())
        g_.outputs.push_back(extra);
    }
    return tidy(infer(g_));
  }

 private:
  // ---- chances
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + pick(0, static_cast<int>(list.size()) - 1));
  }
  ValueId any() {
    return live_[static_cast<std::size_t>(pick(0, static_cast<int>(live_.size()) - 1))];
  }
  ValueId recent() { return chance(4) ? any() : live_.back(); }

  // ---- values
  Shape shape(ValueId v) const { return *g_[v].type.shape(); }
  int axis(ValueId v) {
    const int rank = shape(v).rank, a = pick(0, rank - 1);
    return chance(3) ? a - rank : a;
  }
  Shape random_shape() {
    Shape s;
    const int rank = pick(1, 5);
    for (int i = 0; i < rank; i++)
      s.push(i == 0 && rank > 1 ? pick(1, 3) : pick(1, rank > 3 ? 6 : 12));
    return s;
  }
  ValueId constant(const Shape& s, float spread = 0.7f, float middle = 0) {
    std::vector<float> values(static_cast<std::size_t>(s.elements()));
    std::normal_distribution<float> normal(middle, spread);
    for (float& x : values) x = normal(random_);
    return g_.add_constant({}, make_floats(s, values));
  }
  ValueId number(float x) { return g_.add_constant({}, make_floats(Shape{}, std::span(&x, 1))); }
  ValueId ints(const Ints& values) { return g_.add_constant({}, make_ints(values)); }
  void keep(ValueId v) {
    const std::optional<Shape> s = g_[v].type.shape();
    if (s && s->rank > 0 && s->rank < 6 && s->elements() > 0 && s->elements() <= most_elements &&
        g_[v].type.dtype == DType::f32)
      live_.push_back(v);
  }
  /// The constants of an attribute-free call, or one attribute.
  ValueId with(std::string_view op, std::vector<ValueId> in, std::string_view name,
               Attribute::Value value) {
    Attributes a;
    a.set(name, std::move(value));
    return g_.add(op, std::move(in), a);
  }

  /// A graph input, and a weighted operator of it with the same dims: where codes begin.
  ValueId start(const Shape& s) {
    const ValueId x =
        g_.add_input("x" + std::to_string(g_.inputs.size()), TensorType(DType::f32, s));
    if (chance(12) || s.elements() == 0) return x;
    if (s.rank >= 3 && chance(2)) {
      const std::int64_t k = pick(0, 1) * 2 + 1;
      Shape w{s[1], s[1]};
      Ints pads;
      for (int i = 2; i < s.rank; i++) w.push(k);
      for (int i = 0; i < 2 * (s.rank - 2); i++) pads.push_back(k / 2);
      const float spread = 1 / std::sqrt(static_cast<float>(w.elements() / s[1]));
      Attributes a;
      a.set("pads", pads);
      std::vector<ValueId> in = {x, constant(w, spread)};
      if (chance(2)) in.push_back(constant(Shape{s[1]}, 0.3f));
      return g_.add("Conv", in, a);
    }
    if (s.rank == 0) return x;
    return g_.add("MatMul", {x, constant(Shape{s.back(), s.back()},
                                         1 / std::sqrt(static_cast<float>(s.back())))});
  }

  /// An example of an operator that quantises, on started inputs.
  bool example() {
    std::vector<std::string_view> texts;
    for (const OpDef* op : ops::all())
      if (op->quant != Quant::none && op->domain != "longshore")
        for (std::string_view text : op->examples) texts.push_back(text);
    const std::string_view text =
        texts[static_cast<std::size_t>(pick(0, static_cast<int>(texts.size()) - 1))];
    InferOptions options;
    const Graph given = parse(text);
    for (const Value& v : given.values)
      for (const Dim& d : v.type.dims)
        if (!d.symbol.empty()) options.dims[d.symbol] = pick(1, 3);
    const Graph from = infer(given, options);
    for (const Value& v : from.values)
      if (v.type.quantised() || v.type.dtype == DType::f16 || v.type.dtype == DType::f64)
        return false;
    for (ValueId v : from.inputs)
      if (from[v].type.dtype != DType::f32 || !from[v].type.shape() ||
          from[v].type.shape()->elements() == 0)
        return false;
    std::map<ValueId, ValueId> to;
    for (std::size_t i = 0; i < from.inputs.size(); i++) {
      const Shape s = *from[from.inputs[i]].type.shape();
      // Later inputs are often weights, slopes or bounds.
      ValueId v = i > 0 && chance(2) ? constant(s) : start(s);
      if (i == 0) v = within(from.nodes.front().op->name, v);
      to[from.inputs[i]] = v;
    }
    const auto move = [&](ValueId& v) {
      if (v == no_value) return;
      const auto [it, fresh] = to.try_emplace(v, no_value);
      if (fresh) {
        it->second = g_.add_value({}, from[v].type);
        g_[it->second].constant = from[v].constant;
      }
      v = it->second;
    };
    for (Node n : from.nodes) {
      if (!n.subgraphs.empty()) return false;
      std::ranges::for_each(n.inputs, move);
      std::ranges::for_each(n.outputs, move);
      g_.add_node(std::move(n), 0);
    }
    for (ValueId v : from.outputs) keep(to.at(v));
    return !live_.empty();
  }

  // ---- steps
  void step() {
    switch (pick(0, 13)) {
      case 0:
      case 1:
        return weighted(recent());
      case 2:
      case 3:
      case 4:
        return unary(recent());
      case 5:
      case 6:
        return binary(recent());
      case 7:
        return join(recent());
      case 8:
        return cut(recent());
      case 9:
        return turn(recent());
      case 10:
        return repeat(recent());
      case 11:
        return pool(recent());
      case 12:
        return reduce(recent());
      default:
        return composite(recent());
    }
  }

  /// x in the domain of a function that is not defined, or too steep, everywhere.
  ValueId within(std::string_view op, ValueId x) {
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, op) != names.end();
    };
    if (is({"Acos", "Asin", "Atanh", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Exp"}))
      return g_.add("Mul", {g_.add("Tanh", {x}), number(op == "Exp" ? 2.0f : 0.9f)});
    if (is({"Log", "Reciprocal", "Acosh"}))
      return g_.add("Add", {g_.add("Abs", {x}), number(1.25f)});
    if (is({"Sqrt"})) return g_.add("Abs", {x});
    return x;
  }

  void unary(ValueId x) {
    static constexpr std::string_view names[] = {"Abs",      "Acos",        "Acosh",
                                                 "Asin",     "Asinh",       "Atan",
                                                 "Atanh",    "Ceil",        "Celu",
                                                 "Cos",      "Cosh",        "Elu",
                                                 "Erf",      "Exp",         "Floor",
                                                 "Gelu",     "HardSigmoid", "HardSwish",
                                                 "Identity", "LeakyRelu",   "Log",
                                                 "Mish",     "Neg",         "Reciprocal",
                                                 "Relu",     "Round",       "Selu",
                                                 "Shrink",   "Sigmoid",     "Sign",
                                                 "Sin",      "Sinh",        "Softplus",
                                                 "Softsign", "Sqrt",        "Swish",
                                                 "Tan",      "Tanh",        "ThresholdedRelu",
                                                 "Dropout",  "Relu",        "Relu"};
    if (chance(5)) {
      const ValueId low = chance(3) ? no_value : number(one_of({0.0f, -1.0f, 0.25f})),
                    high = chance(3) ? no_value : number(one_of({6.0f, 1.0f, 0.5f}));
      return keep(g_.add("Clip", {x, low, high}));
    }
    if (chance(8))
      return keep(g_.add(one_of<std::string_view>({"Min", "Max"}),
                         {x, number(one_of({0.0f, 1.0f, -0.5f}))}));
    if (chance(10)) return keep(with("Softmax", {x}, "axis", std::int64_t{axis(x)}));
    const std::string_view op = names[pick(0, static_cast<int>(std::size(names)) - 1)];
    keep(g_.add(op, {within(op, x)}));
  }

  /// A second operand that broadcasts with x: of its own dims, with dims of 1, of lower or higher
  /// rank.
  Shape partner(const Shape& s) {
    Shape out;
    const int skip = chance(2) ? 0 : pick(0, s.rank);
    if (chance(8) && s.rank < 5) out.push(one_of<std::int64_t>({1, 2}));
    for (int i = out.rank > 0 ? 0 : skip; i < s.rank; i++) out.push(chance(3) ? 1 : s[i]);
    return out;
  }

  void binary(ValueId a) {
    static constexpr std::string_view names[] = {"Add", "Mul",  "Sub",   "Div", "Max", "Min",
                                                 "Sum", "Mean", "PRelu", "Pow", "Add", "Mul"};
    const std::string_view op = names[pick(0, static_cast<int>(std::size(names)) - 1)];
    if (op == "Pow") return keep(g_.add("Pow", {a, number(one_of({2.0f, 3.0f}))}));
    if (op == "PRelu") {
      Shape s = partner(shape(a));
      while (s.rank > shape(a).rank) s = partner(shape(a));
      return keep(g_.add("PRelu", {a, constant(s, 0.2f, 0.2f)}));
    }
    ValueId b = no_value;
    for (ValueId v : live_)
      if (v != a && shape(v) == shape(a) && chance(2)) b = v;
    if (b == no_value && chance(3)) b = start(partner(shape(a)));
    if (b == no_value) b = constant(partner(shape(a)), 1);
    if (op == "Div") b = g_.add("Add", {g_.add("Abs", {b}), number(1)});
    std::vector<ValueId> in = {a, b};
    if (op != "Div" && op != "Sub" && chance(3)) std::swap(in[0], in[1]);
    if ((op == "Sum" || op == "Mean" || op == "Max" || op == "Min") && chance(3))
      in.push_back(chance(2) ? a : constant(partner(shape(a)), 1));
    keep(g_.add(op, in));
  }

  void weighted(ValueId x) {
    const Shape s = shape(x);
    if (s.rank >= 3 && !chance(3)) return convolution(x);
    const std::int64_t n = pick(1, 9);
    const float spread = 1 / std::sqrt(static_cast<float>(s.back()));
    if (s.rank == 2 && chance(2)) {
      Attributes a;
      const bool turned = chance(2);
      if (turned) a.set("transB", std::int64_t{1});
      if (chance(4)) a.set("alpha", 0.5f);
      std::vector<ValueId> in = {
          x, constant(turned ? Shape{n, s.back()} : Shape{s.back(), n}, spread)};
      if (!chance(3)) {
        in.push_back(
            constant(one_of<Shape>({Shape{n}, Shape{1, n}, Shape{}, Shape{s[0], n}, Shape{1}})));
        if (chance(4)) a.set("beta", 2.0f);
      }
      const ValueId y = g_.add("Gemm", in, a);
      return keep(chance(3)   ? g_.add("Clip", {y, number(-0.5f), number(1)})
                  : chance(2) ? g_.add("Relu", {y})
                              : y);
    }
    if (chance(5) && s.rank >= 2) {  // two activations
      Ints perm;
      for (int i = 0; i < s.rank; i++) perm.push_back(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return keep(g_.add(
          "Mul", {g_.add("MatMul", {x, with("Transpose", {x}, "perm", perm)}), number(spread)}));
    }
    ValueId y = g_.add("MatMul", {x, constant(Shape{s.back(), n}, spread)});
    if (chance(2)) y = g_.add("Add", {y, constant(chance(4) ? partner(shape(y)) : Shape{n})});
    keep(y);
  }

  void convolution(ValueId x) {
    const Shape s = shape(x);
    Attributes a;
    std::int64_t group = 1, out = pick(1, 8);
    if (chance(3)) group = out = s[1];
    if (group == 1 && s[1] % 2 == 0 && chance(3)) group = 2, out = 2 * pick(1, 3);
    Shape w{out, s[1] / group};
    Ints pads, strides, dilations;
    for (int i = 2; i < s.rank; i++) {
      const std::int64_t k = std::min<std::int64_t>(pick(1, 4), s[i]),
                         d = chance(4) && 2 * k <= s[i] ? 2 : 1;
      w.push(k);
      dilations.push_back(d);
      strides.push_back(pick(1, 2));
      pads.push_back(pick(0, static_cast<int>(k) / 2));
    }
    for (int i = 2; i < s.rank; i++) pads.push_back(pick(0, static_cast<int>(w[i]) / 2));
    if (group > 1) a.set("group", group);
    if (chance(6))
      a.set("auto_pad", std::string(chance(2) ? "SAME_UPPER" : "VALID"));
    else if (chance(2))
      a.set("pads", pads);
    if (chance(3)) a.set("strides", strides);
    if (chance(3)) a.set("dilations", dilations);
    std::vector<ValueId> in = {x,
                               constant(w, 1 / std::sqrt(static_cast<float>(w.elements() / out)))};
    if (chance(2)) in.push_back(constant(Shape{out}));
    ValueId y = g_.add("Conv", in, a);
    if (chance(3)) {
      std::vector<ValueId> norm = {y};
      norm.push_back(constant(Shape{out}, 0.2f, 1));
      norm.push_back(constant(Shape{out}, 0.3f));
      norm.push_back(constant(Shape{out}, 0.3f));
      std::vector<float> variance(static_cast<std::size_t>(out));
      for (float& v : variance) v = std::uniform_real_distribution<float>(0.5f, 2)(random_);
      norm.push_back(g_.add_constant({}, make_floats(Shape{out}, variance)));
      y = g_.add("BatchNormalization", norm);
    }
    if (chance(2)) y = g_.add("Relu", {y});
    keep(y);
  }

  void join(ValueId x) {
    const int at = axis(x);
    std::vector<ValueId> in = {x};
    for (int i = pick(1, 2); i > 0; i--) {
      Shape s = shape(x);
      s[at < 0 ? at + s.rank : at] = pick(1, 3);
      ValueId other = chance(2)   ? g_.add(one_of<std::string_view>({"Relu", "Tanh", "Neg"}), {x})
                      : chance(3) ? constant(s, 1)
                                  : start(s);
      in.insert(chance(2) ? in.begin() : in.end(), other);
    }
    keep(with("Concat", in, "axis", std::int64_t{at}));
  }

  void cut(ValueId x) {
    const Shape s = shape(x);
    const int at = axis(x), i = at < 0 ? at + s.rank : at;
    switch (pick(0, 4)) {
      case 0: {
        const std::int64_t from = pick(0, static_cast<int>(s[i]) - 1);
        std::vector<ValueId> in = {x, ints({chance(2) ? from : from - s[i]}),
                                   ints({chance(2) ? s[i] : std::int64_t{9223372036854775807}}),
                                   ints({at})};
        if (chance(2)) in.push_back(ints({pick(1, 2)}));
        return keep(g_.add("Slice", in));
      }
      case 1: {
        Ints where;
        for (int k = pick(1, 4); k > 0; k--) where.push_back(pick(0, static_cast<int>(s[i]) - 1));
        return keep(with("Gather", {x, ints(where)}, "axis", std::int64_t{at}));
      }
      default: {
        if (s[i] < 2) return unary(x);
        Node n;
        n.op = &op_named("Split");
        n.inputs = {x};
        n.attributes.set("axis", std::int64_t{at});
        const std::int64_t first = pick(1, static_cast<int>(s[i]) - 1);
        if (chance(3))
          n.attributes.set("num_outputs", std::int64_t{2});
        else
          n.inputs.push_back(ints({first, s[i] - first}));
        const int node = g_.add_node(std::move(n), 2);
        const std::vector<ValueId> parts = g_.nodes[static_cast<std::size_t>(node)].outputs;
        for (ValueId v : parts)
          if (!chance(3)) keep(v);
        if (shape(parts[0]) == shape(parts[1])) keep(g_.add("Add", parts));
        return;
      }
    }
  }

  void turn(ValueId x) {
    const Shape s = shape(x);
    Ints perm, dims(s.begin(), s.end());
    switch (pick(0, 6)) {
      case 0:
      case 1: {
        for (int i = 0; i < s.rank; i++) perm.push_back(i);
        std::shuffle(perm.begin(), perm.end(), random_);
        return keep(with("Transpose", {x}, "perm", perm));
      }
      case 2: {
        std::shuffle(dims.begin(), dims.end(), random_);
        if (chance(3)) dims[static_cast<std::size_t>(pick(0, s.rank - 1))] = -1;
        return keep(g_.add("Reshape", {x, ints(dims)}));
      }
      case 3:
        return keep(with("Flatten", {x}, "axis", std::int64_t{pick(0, s.rank)}));
      case 4:
        return keep(g_.add("Unsqueeze", {x, ints({pick(-1, s.rank)})}));
      case 5: {
        Ints ones;
        for (int i = 0; i < s.rank; i++)
          if (s[i] == 1) ones.push_back(i);
        if (ones.empty() || static_cast<int>(ones.size()) == s.rank) return unary(x);
        return keep(chance(2) ? g_.add("Squeeze", {x}) : g_.add("Squeeze", {x, ints(ones)}));
      }
      default: {
        if (s.rank != 4) return unary(x);
        const std::int64_t b = 2;
        if (s[1] % 4 == 0) return keep(with("DepthToSpace", {x}, "blocksize", b));
        if (s[2] % 2 == 0 && s[3] % 2 == 0) return keep(with("SpaceToDepth", {x}, "blocksize", b));
        return unary(x);
      }
    }
  }

  void repeat(ValueId x) {
    const Shape s = shape(x);
    Ints all;
    switch (pick(0, 3)) {
      case 0: {
        for (int i = 0; i < 2 * s.rank; i++)
          all.push_back(pick(0, 2) - (chance(6) && s[i % s.rank] > 3));
        std::vector<ValueId> in = {x, ints(all)};
        if (chance(2)) in.push_back(number(one_of({0.0f, 0.5f, -1.0f})));
        return keep(g_.add("Pad", in));
      }
      case 1: {
        for (int i = 0; i < s.rank; i++) all.push_back(pick(1, 2));
        return keep(g_.add("Tile", {x, ints(all)}));
      }
      case 2: {
        for (int i = 0; i < s.rank; i++) all.push_back(s[i] == 1 ? pick(1, 3) : 1);
        if (s.rank < 5 && chance(3)) all.insert(all.begin(), pick(1, 2));
        return keep(g_.add("Expand", {x, ints(all)}));
      }
      default: {
        if (s.rank != 4 && s.rank != 3) return unary(x);
        std::vector<float> by = {1, 1};
        for (int i = 2; i < s.rank; i++) by.push_back(one_of({1.0f, 2.0f, 1.5f, 3.0f}));
        Attributes a;
        a.set("mode", std::string(chance(3) ? "linear" : "nearest"));
        a.set("coordinate_transformation_mode",
              std::string(one_of<std::string_view>({"asymmetric", "half_pixel"})));
        a.set("nearest_mode", std::string(chance(2) ? "floor" : "round_prefer_floor"));
        const ValueId scales = g_.add_constant({}, make_floats(Shape{s.rank}, by));
        return keep(g_.add("Resize", {x, no_value, scales}, a));
      }
    }
  }

  void pool(ValueId x) {
    const Shape s = shape(x);
    if (s.rank < 3) return unary(x);
    if (chance(4)) return keep(g_.add(chance(2) ? "GlobalAveragePool" : "GlobalMaxPool", {x}));
    Attributes a;
    Ints kernel, strides, pads;
    for (int i = 2; i < s.rank; i++) {
      kernel.push_back(std::min<std::int64_t>(pick(1, 3), s[i]));
      strides.push_back(pick(1, 2));
    }
    for (int i = 0; i < 2 * (s.rank - 2); i++)
      pads.push_back(
          pick(0, static_cast<int>(kernel[static_cast<std::size_t>(i % (s.rank - 2))]) / 2));
    a.set("kernel_shape", kernel);
    if (chance(2)) a.set("strides", strides);
    if (chance(2)) a.set("pads", pads);
    if (chance(4)) a.set("ceil_mode", std::int64_t{1});
    const bool most = chance(2);
    if (!most && chance(2)) a.set("count_include_pad", std::int64_t{1});
    keep(g_.add(most ? "MaxPool" : "AveragePool", {x}, a));
  }

  void reduce(ValueId x) {
    const Shape s = shape(x);
    Ints axes;
    for (int i = 0; i < s.rank; i++)
      if (chance(2)) axes.push_back(chance(2) ? i : i - s.rank);
    if (s.rank == 4 && chance(2)) axes = {2, 3};
    if (axes.empty()) axes = {-1};
    keep(with(one_of<std::string_view>(
                  {"ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"}),
              {x, ints(axes)}, "keepdims", std::int64_t{chance(3) ? 0 : 1}));
  }

  void composite(ValueId x) {
    switch (pick(0, 3)) {
      case 0:
        return keep(g_.add("Mul", {x, g_.add("Sigmoid", {x})}));
      case 1: {
        const ValueId c = g_.add("Clip", {g_.add("Add", {x, number(3)}), number(0), number(6)});
        return keep(g_.add("Mul", {x, g_.add("Div", {c, number(6)})}));
      }
      case 2: {  // squeeze and excite
        if (shape(x).rank != 4) return unary(x);
        const ValueId p = g_.add("GlobalAveragePool", {x});
        const std::int64_t c = shape(x)[1];
        const ValueId w = constant(Shape{c, c, 1, 1}, 1 / std::sqrt(static_cast<float>(c)));
        return keep(g_.add("Mul", {x, g_.add("Sigmoid", {g_.add("Conv", {p, w})})}));
      }
      default: {  // a residual
        const Shape s = shape(x);
        const ValueId w =
            constant(Shape{s.back(), s.back()}, 1 / std::sqrt(static_cast<float>(s.back())));
        return keep(g_.add("Add", {x, g_.add("MatMul", {g_.add("Relu", {x}), w})}));
      }
    }
  }

  std::mt19937& random_;
  Graph g_;
  std::vector<ValueId> live_;
};

}  // namespace

Graph random_float_net(std::mt19937& random) { return Builder(random).run(); }

}  // namespace longshore::tests
