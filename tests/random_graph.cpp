#include "random_graph.hpp"

#include <algorithm>

#include "tensor/small_float.hpp"

namespace longshore::tests {
namespace {

class Builder {
 public:
  explicit Builder(std::mt19937& random) : random_(random) {}

  Graph run() {
    const int inputs = pick(1, 2);
    for (int i = 0; i < inputs; i++)
      live_.push_back(
          g_.add_input("x" + std::to_string(i),
                       TensorType(DType::f32, Shape{1, pick(1, 4), pick(3, 7), pick(3, 7)})));
    condition_ = g_.add_input("c", TensorType(DType::boolean, Shape{}));
    const int steps = pick(3, 14);
    for (int i = 0; i < steps; i++) step();
    g_.outputs.push_back(live_.back());
    if (chance(3)) {
      const ValueId extra = any();
      if (g_.def(extra) && extra != live_.back()) g_.outputs.push_back(extra);
    }
    return tidy(std::move(g_));
  }

 private:
  // ---- chances
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  ValueId any() {
    return live_[static_cast<std::size_t>(pick(0, static_cast<int>(live_.size()) - 1))];
  }
  /// Recent values are taken more often: that makes chains.
  ValueId recent() { return chance(3) ? any() : live_.back(); }
  Shape shape(ValueId v) const { return *g_[v].type.shape(); }

  ValueId constant(const Shape& s, float spread = 0.5f, float middle = 0) {
    std::vector<float> values(static_cast<std::size_t>(s.elements()));
    std::normal_distribution<float> normal(middle, spread);
    for (float& x : values) x = normal(random_);
    return g_.add_constant({}, make_floats(s, values));
  }
  ValueId positive(const Shape& s) {
    std::vector<float> values(static_cast<std::size_t>(s.elements()));
    for (float& x : values) x = std::uniform_real_distribution<float>(0.5f, 2)(random_);
    return g_.add_constant({}, make_floats(s, values));
  }
  ValueId number(float x) { return g_.add_constant({}, make_floats(Shape{}, std::span(&x, 1))); }
  /// The number as exporters write it: a scalar, or one element of rank 1, or of far too high rank.
  ValueId any_rank(float x) {
    Shape s;
    for (int rank = chance(3) ? pick(1, 4) : 0; s.rank < rank;) s.push(1);
    return g_.add_constant({}, make_floats(s, std::span(&x, 1)));
  }
  ValueId ints(const Ints& values) { return g_.add_constant({}, make_ints(values)); }

  void keep(ValueId v) {
    const Shape s = shape(v);
    if (s.rank > 0 && s.rank < 6 && s.elements() > 0 && s.elements() < 4000) live_.push_back(v);
  }

  // ---- steps
  void step() {
    switch (pick(0, 15)) {
      case 0:
      case 1:
      case 2:
        return convolution();
      case 13:
        return pad();
      case 14:
        return split();
      case 3:
      case 4:
        return keep(unary(recent()));
      case 5:
        return binary();
      case 6:
        return transpose();
      case 7:
        return reshape();
      case 8:
        return join();
      case 9:
        return pool();
      case 10:
        return branch();
      case 11:
        return product();
      case 12:
        return composite();
      default:
        return again();
    }
  }

  void convolution() {
    const ValueId x = recent();
    const Shape s = shape(x);
    if (s.rank != 4) return keep(unary(x));
    const int group = s[1] % 2 == 0 && chance(3) ? 2 : 1;
    const std::int64_t out = group * pick(1, 3);
    const int kernel = static_cast<int>(std::min<std::int64_t>({pick(1, 3), s[2], s[3]}));
    Attributes a;
    ValueId from = x;
    if (chance(4)) from = g_.add("Pad", {x, ints({0, 0, pick(0, 2), 1, 0, 0, 1, pick(0, 1)})});
    if (group > 1) a.set("group", std::int64_t{group});
    if (chance(2)) a.set("pads", Ints{kernel / 2, kernel / 2, kernel / 2, kernel / 2});
    if (chance(3)) a.set("strides", Ints{pick(1, 2), pick(1, 2)});
    std::vector<ValueId> in{from, constant(Shape{out, s[1] / group, kernel, kernel})};
    if (chance(2)) in.push_back(constant(Shape{out}));
    ValueId y = g_.add("Conv", in, a);
    if (chance(2)) {
      Attributes b;
      if (chance(2)) b.set("epsilon", 0.01f);
      y = g_.add("BatchNormalization",
                 {y, positive(Shape{out}), constant(Shape{out}), constant(Shape{out}),
                  positive(Shape{out})},
                 b);
    }
    if (chance(3)) {
      const ValueId k =
          chance(3) ? number(0.5f) : positive(chance(2) ? Shape{out, 1, 1} : Shape{1, out, 1, 1});
      static constexpr std::string_view arithmetic[] = {"Add", "Mul", "Sub", "Div"};
      y = g_.add(arithmetic[pick(0, 3)], {y, k});
    }
    if (chance(4)) live_.push_back(y);  // somebody else reads it too
    if (!chance(3)) y = unary(y);
    keep(y);
  }

  ValueId unary(ValueId x) {
    static constexpr std::string_view plain[] = {"Relu", "Sigmoid",  "Tanh",      "Neg",
                                                 "Abs",  "Identity", "HardSwish", "HardSigmoid",
                                                 "Erf",  "Softplus", "LeakyRelu"};
    switch (pick(0, 5)) {
      case 0:
        return g_.add("Clip", {x, chance(4) ? no_value : number(chance(2) ? 0.f : -1.f),
                               chance(4) ? no_value : number(chance(2) ? 6.f : 1.f)});
      case 1:
        return g_.add("Mul", {x, g_.add("Sigmoid", {x})});
      case 2:
        return g_.add(chance(2) ? "Min" : "Max", {x, any_rank(static_cast<float>(pick(0, 3)))});
      default:
        return g_.add(plain[pick(0, 10)], {x});
    }
  }

  void binary() {
    const ValueId a = recent();
    static constexpr std::string_view names[] = {"Add", "Mul", "Sub", "Max", "Min"};
    const std::string_view op = names[pick(0, 4)];
    for (ValueId b : live_)
      if (b != a && shape(b) == shape(a) && chance(2)) return keep(g_.add(op, {a, b}));
    keep(g_.add(op, {a, chance(2) ? number(0.25f) : constant(Shape{shape(a).back()})}));
  }

  void transpose() {
    const ValueId x = recent();
    Ints perm;
    for (int i = 0; i < shape(x).rank; i++) perm.push_back(i);
    std::shuffle(perm.begin(), perm.end(), random_);
    Attributes a;
    a.set("perm", perm);
    ValueId y = g_.add("Transpose", {x}, a);
    if (chance(2)) {
      Ints back(perm.size());
      for (std::size_t i = 0; i < perm.size(); i++)
        back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
      Attributes b;
      b.set("perm", back);
      y = g_.add("Transpose", {chance(2) ? y : unary(y)}, b);
    }
    keep(y);
  }

  void reshape() {
    const ValueId x = recent();
    const Shape s = shape(x);
    if (chance(3)) {  // back to its own dims, through shape arithmetic
      const ValueId dims = g_.add("Shape", {x});
      const ValueId flat = g_.add("Reshape", {x, ints({-1})});
      const ValueId y = g_.add("Reshape", {flat, dims});
      g_ = infer(g_);  // only whole-graph inference follows shape arithmetic
      return keep(y);
    }
    if (chance(3)) return keep(g_.add("Squeeze", {g_.add("Unsqueeze", {x, ints({0})}), ints({0})}));
    Ints dims(s.begin(), s.end());
    std::shuffle(dims.begin(), dims.end(), random_);
    if (chance(3)) dims[static_cast<std::size_t>(pick(0, s.rank - 1))] = -1;
    ValueId y = g_.add("Reshape", {x, ints(dims)});
    if (chance(2)) y = g_.add("Reshape", {y, ints(Ints(s.begin(), s.end()))});
    keep(y);
  }

  void join() {
    const ValueId x = recent();
    const int axis = pick(0, shape(x).rank - 1);
    Attributes a;
    a.set("axis", std::int64_t{axis});
    ValueId y = g_.add("Concat", {x, unary(x)}, a);
    if (chance(2)) {
      const std::int64_t size = shape(x)[axis];
      y = g_.add("Slice",
                 {y, ints({chance(2) ? 0 : size / 2}),
                  ints({chance(2) ? size : std::int64_t{9223372036854775807}}), ints({axis})});
    }
    keep(y);
  }

  void pad() {
    const ValueId x = recent();
    Ints amounts;
    for (int i = 0; i < 2 * shape(x).rank; i++) amounts.push_back(chance(2) ? 0 : pick(0, 2));
    std::vector<ValueId> in{x, ints(amounts)};
    if (chance(2)) in.push_back(number(chance(2) ? 0 : -0.5f));
    keep(g_.add("Pad", in));
  }

  void split() {
    const ValueId x = recent();
    const int axis = pick(0, shape(x).rank - 1);
    const std::int64_t size = shape(x)[axis];
    if (size < 2) return keep(unary(x));
    Node n;
    n.op = &op_named("Split");
    n.inputs = {x};
    if (chance(2)) n.inputs.push_back(ints({1, size - 1}));
    n.attributes.set("axis", std::int64_t{axis});
    if (n.inputs.size() == 1) n.attributes.set("num_outputs", std::int64_t{2});
    const int at = g_.add_node(std::move(n), 2);
    const std::vector<ValueId> parts = g_.nodes[static_cast<std::size_t>(at)].outputs;
    g_.nodes[static_cast<std::size_t>(at)].origin.name = g_[parts[0]].name;
    for (ValueId v : parts)
      if (!chance(4)) keep(v);
  }

  void pool() {
    const ValueId x = recent();
    const Shape s = shape(x);
    if (s.rank != 4) return keep(unary(x));
    if (chance(3)) return keep(g_.add("ReduceMean", {x, ints({2, 3})}));
    if (chance(3)) return keep(g_.add("GlobalAveragePool", {x}));
    Attributes a;
    const bool whole = chance(4);
    const std::int64_t kh = whole ? s[2] : std::min<std::int64_t>(2, s[2]),
                       kw = whole ? s[3] : std::min<std::int64_t>(2, s[3]);
    a.set("kernel_shape", Ints{kh, kw});
    if (chance(2)) a.set("strides", Ints{pick(1, 2), pick(1, 2)});
    keep(g_.add(chance(2) ? "MaxPool" : "AveragePool", {x}, a));
  }

  void branch() {
    const ValueId x = recent();
    const bool known = chance(2);
    Node n;
    n.op = &op_named("If");
    n.inputs = {condition_};
    if (known) {
      const Bool8 value(chance(2));
      n.inputs = {
          g_.add_constant({}, make_tensor<Bool8>(DType::boolean, Shape{}, std::span(&value, 1)))};
    }
    for (std::string_view name : {"else_branch", "then_branch"}) {
      Subgraph s;
      s.name = name;
      s.captures = {x};
      const ValueId inner = s.body.add_captured("outer", g_[x].type);
      ValueId y = s.body.add(name == "else_branch" ? "Relu" : "Tanh", {inner});
      if (chance(2)) {
        const ValueId k = constant(Shape{shape(x).back()});
        s.captures.push_back(k);
        y = s.body.add("Add", {y, s.body.add_captured("k", g_[k].type)});
      }
      s.body.outputs = {y};
      n.subgraphs.push_back(std::move(s));
    }
    const int at = g_.add_node(std::move(n));
    const ValueId y = g_.nodes[static_cast<std::size_t>(at)].outputs[0];
    g_.nodes[static_cast<std::size_t>(at)].origin.name = g_[y].name;
    if (g_[y].type.shape()) keep(y);
  }

  void product() {
    const ValueId x = recent();
    const Shape s = shape(x);
    const ValueId flat = g_.add("Reshape", {x, ints({s[0], -1})});
    const std::int64_t columns = pick(1, 5);
    const std::int64_t rows = shape(flat)[1];
    if (rows > 300) return;
    ValueId y = no_value;
    if (chance(2)) {
      y = g_.add("Gemm", {flat, constant(Shape{rows, columns}, 0.2f), constant(Shape{columns})});
      if (chance(2)) return keep(g_.add("Clip", {y, number(-1), chance(2) ? no_value : number(1)}));
    } else {
      y = g_.add("Add", {g_.add("MatMul", {flat, constant(Shape{rows, columns}, 0.2f)}),
                         constant(Shape{columns})});
    }
    keep(chance(2) ? g_.add("Relu", {y}) : y);
  }

  void composite() {
    const ValueId x = recent();
    switch (pick(0, 3)) {
      case 0: {  // hard swish as exporters write it
        const ValueId c = g_.add("Clip", {g_.add("Add", {x, any_rank(3)}), number(0), number(6)});
        return keep(chance(2) ? g_.add("Div", {g_.add("Mul", {x, c}), any_rank(6)})
                              : g_.add("Mul", {x, g_.add("Div", {c, any_rank(6)})}));
      }
      case 1: {
        const ValueId e = g_.add("Erf", {g_.add("Div", {x, any_rank(1.41421356f)})});
        return keep(
            g_.add("Mul", {g_.add("Mul", {x, g_.add("Add", {e, any_rank(1)})}), any_rank(0.5f)}));
      }
      case 2: {
        if (shape(x).back() < 2) return keep(unary(x));
        const ValueId mean = g_.add("ReduceMean", {x, ints({-1})});
        const ValueId d = g_.add("Sub", {x, mean});
        const ValueId v = g_.add("ReduceMean", {g_.add("Pow", {d, any_rank(2)}), ints({-1})});
        const ValueId r = g_.add("Sqrt", {g_.add("Add", {v, any_rank(0.1f)})});
        const Shape last{shape(x).back()};
        return keep(g_.add(
            "Add", {g_.add("Mul", {g_.add("Div", {d, r}), constant(last)}), constant(last)}));
      }
      default:
        return keep(g_.add("Softmax", {x}));
    }
  }

  /// An earlier node once more, on the same inputs.
  void again() {
    if (g_.nodes.empty()) return;
    const Node& from =
        g_.nodes[static_cast<std::size_t>(pick(0, static_cast<int>(g_.nodes.size()) - 1))];
    if (!from.subgraphs.empty() || from.outputs.size() != 1 ||
        g_[from.outputs[0]].type.dtype != DType::f32)
      return;
    Node copy = from;
    copy.outputs.clear();
    const int at = g_.add_node(std::move(copy));
    keep(g_.nodes[static_cast<std::size_t>(at)].outputs[0]);
  }

  std::mt19937& random_;
  Graph g_;
  ValueId condition_ = no_value;
  std::vector<ValueId> live_;
};

}  // namespace

Graph random_graph(std::mt19937& random) { return Builder(random).run(); }

}  // namespace longshore::tests
