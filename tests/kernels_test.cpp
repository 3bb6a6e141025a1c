// The fast kernels on every instruction set that this machine has, against the reference, over
// random shapes: floats within the operator's bound, integers byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "allocations.hpp"
#include "cpu/bind.hpp"
#include "measure/runner.hpp"
#include "random.hpp"

namespace longshore::tests::kernels_test {
namespace {

using cpu::Isa;

class Kernels : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!cpu::has_isa(GetParam())) GTEST_SKIP() << "this machine has no " << cpu::name(GetParam());
  }
  std::mt19937 rng{seed()};
  Rounding rounding = Rounding::f32_even;
  int pick(int from, int to) {
    return from + static_cast<int>(rng() % static_cast<unsigned>(to - from + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + pick(0, static_cast<int>(list.size()) - 1));
  }

  /// Runs the graph with and without fast kernels and compares; every node must use `kernel`.
  void check(const std::string& text, const char* kernel, int threads = 1) {
    SCOPED_TRACE(text);
    Graph g = parse(text);
    g.numbers = rounding;
    // Quantised kernels want constant weights and bias: inputs named w and b become that.
    for (std::size_t i = g.inputs.size(); i-- > 0;) {
      Value& v = g[g.inputs[i]];
      if (!v.type.quantised() || (v.name != "w" && v.name != "b")) continue;
      v.constant = random(v.type);
      g.inputs.erase(g.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::vector<Tensor> in;
    for (ValueId v : g.inputs) in.push_back(random(g[v].type));
    RunnerOptions options;
    options.isa = GetParam();
    options.threads = threads;
    Runner runner(g, std::move(options));
    for (const std::string& name : runner.kernels()) ASSERT_EQ(name, kernel);
    const std::vector<Tensor> want = evaluate(g, in), got = runner.run(in);
    ASSERT_EQ(got.size(), want.size());
    EXPECT_LE(allocations_of_a_run(g, in, true, GetParam(), threads), 0);
    const OpDef& op = *g.nodes.back().op;
    for (std::size_t i = 0; i < got.size(); i++)
      compare(got[i], want[i], op.float_rtol, op.float_atol);
    // NaN and infinity go the same ways: through clamps, sums and maxima.
    in[0] = with_extremes(rng, in[0]);
    const std::vector<Tensor> extreme = evaluate(g, in), got_extreme = runner.run(in);
    for (std::size_t i = 0; i < got.size(); i++)
      compare(got_extreme[i], extreme[i], op.float_rtol, op.float_atol);
  }

  Tensor random(const TensorType& type) {
    const Shape shape = *type.shape();
    if (!type.quantised()) return random_tensor(rng, type.dtype, shape);
    std::vector<std::byte> bytes(static_cast<std::size_t>(shape.elements()) *
                                 size_bytes(type.dtype));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
    if (type.dtype == DType::i32)
      for (std::int64_t i = 0; i < shape.elements(); i++)
        reinterpret_cast<std::int32_t*>(bytes.data())[i] %= 100000;
    return {type.dtype, shape, make_blob(std::move(bytes))};
  }

  static void compare(const Tensor& got, const Tensor& want, float rtol, float atol) {
    ASSERT_EQ(got.dtype, want.dtype);
    ASSERT_TRUE(got.shape == want.shape);
    if (got.dtype != DType::f32) {
      ASSERT_EQ(got, want);
      return;
    }
    const auto g = got.values<float>(), w = want.values<float>();
    for (std::size_t i = 0; i < g.size(); i++)
      ASSERT_EQ(difference(g[i], w[i], atol + rtol * std::fabs(w[i])), "") << i;
  }

  std::string convolution(bool quantised, bool depthwise);
};

std::string list(std::initializer_list<int> numbers) {
  std::string out = "[";
  for (int n : numbers) out += (out.size() > 1 ? "," : "") + std::to_string(n);
  return out + "]";
}

const cpu::Kernel& kernel_named(std::string_view name) {
  for (const cpu::Kernel* k : kernels::all())
    if (k->name == name) return *k;
  throw std::out_of_range(std::string(name));
}

/// A Conv or FusedConv over random dims as text.
std::string Kernels::convolution(bool quantised, bool depthwise) {
  const int groups = depthwise ? pick(2, 9) : one_of({1, 1, 1, 2, 3}),
            in = depthwise ? 1 : one_of({1, 2, 3, 5, 8, 17, 40}),
            out = depthwise ? 1 : std::max(2, pick(1, 35)), n = pick(1, 2), kh = pick(1, 5),
            kw = pick(1, 5), dh = pick(1, 2), dw = pick(1, 2), sh = pick(1, 3), sw = pick(1, 3),
            h = (kh - 1) * dh + pick(1, 20), w = (kw - 1) * dw + pick(1, 40);
  const bool one_dim = pick(0, 5) == 0, bias = pick(0, 1), fused = pick(0, 1);
  const int t = pick(0, kh - 1), l = pick(0, kw - 1), b = pick(0, kh - 1), r = pick(0, kw - 1);
  const int m = groups * out;
  const std::string x_dims = one_dim ? list({n, groups * in, w}) : list({n, groups * in, h, w});
  const std::string w_dims = one_dim ? list({m, in, kw}) : list({m, in, kh, kw});
  std::string text = "(x: ";
  if (!quantised) {
    text +=
        "f32" + x_dims + ", w: f32" + w_dims + (bias ? ", b: f32[" + std::to_string(m) + "]" : "");
  } else {
    const bool per_channel = pick(0, 1);
    std::string scales, zeros, bias_scales;
    for (int i = 0; i < m; i++) {
      const std::string comma = i ? "," : "";
      const int scale = pick(1, 90);
      scales += comma + "0.0" + std::to_string(scale + 100);
      bias_scales += comma + "0.0001";
      zeros += comma + "0";
    }
    text += one_of({"i8", "i8", "u8"}) + x_dims + " q(0.02, " + std::to_string(pick(0, 100)) +
            "), w: i8" + w_dims;
    text += per_channel ? " q([" + scales + "],[" + zeros + "], axis=0)" : " q(0.013, 0)";
    if (bias)
      text +=
          ", b: i32[" + std::to_string(m) + "]" +
          (per_channel ? " q([" + bias_scales + "],[" + zeros + "], axis=0)" : " q(0.00026, 0)");
  }
  text += ") { y";
  if (quantised) {
    const auto extent = [](int size, int pad, int k, int d, int s) {
      return (size + pad - (k - 1) * d - 1) / s + 1;
    };
    const int oh = extent(h, t + b, kh, dh, sh), ow = extent(w, l + r, kw, dw, sw);
    text += ": i8" + (one_dim ? list({n, m, ow}) : list({n, m, oh, ow})) + " q(" +
            one_of({"0.3", "0.05", "1.7"}) + ", " + std::to_string(pick(-100, 100)) + ")";
  }
  text += std::string(" = ") + (fused ? "com.microsoft.FusedConv" : "Conv") + "(x, w" +
          (bias ? ", b" : "");
  if (fused)
    text += quantised ? one_of({", activation=\"Relu\"",
                                ", activation=\"Clip\", activation_params=[0.0,6.0]"})
                      : one_of({", activation=\"Relu\"",
                                ", activation=\"Clip\", activation_params=[-1.0,6.0]",
                                ", activation=\"Clip\", activation_params=[-1.0,inf]",
                                ", activation=\"Clip\", activation_params=[-inf,6.0]",
                                ", activation=\"LeakyRelu\", activation_params=[0.1]",
                                ", activation=\"Sigmoid\"",
                                ", activation=\"HardSigmoid\", activation_params=[0.2,0.5]",
                                ", activation=\"Tanh\""});
  text += ", group=" + std::to_string(groups);
  text += one_dim
              ? ", pads=" + list({l, r}) + ", strides=" + list({sw}) + ", dilations=" + list({dw})
              : ", pads=" + list({t, l, b, r}) + ", strides=" + list({sh, sw}) +
                    ", dilations=" + list({dh, dw});
  return text + ") return y }";
}

TEST_P(Kernels, ConvF32) {
  for (int i = 0; i < 60; i++) check(convolution(false, false), "conv_f32", pick(1, 3));
}

TEST_P(Kernels, DepthwiseF32) {
  for (int i = 0; i < 60; i++) check(convolution(false, true), "depthwise_f32", pick(1, 2));
}

TEST_P(Kernels, ConvF32Deep) {  // several passes over the depth, many pixels
  check(
      "(x: f32[1,70,40,33], w: f32[50,70,3,3], b: f32[50]) { y = com.microsoft.FusedConv(x, w, b, "
      "pads=[1,1,1,1], "
      "activation=\"Relu\") return y }",
      "conv_f32", 2);
  check(
      "(x: f32[1,8,5,5], w: f32[30,8,3,3], b: f32[30], z: f32[1,30,5,5]) { y = "
      "com.microsoft.FusedConv(x, w, b, z, "
      "pads=[1,1,1,1], activation=\"Relu\") return y }",
      "conv_f32", 2);
}

TEST_P(Kernels, GemmF32) {
  for (int i = 0; i < 60; i++) {
    const int m = one_of({1, 1, 2, 5, 13, 60, 130}), n = one_of({1, 7, 16, 33, 70}),
              k = one_of({1, 3, 17, 64, 400});
    const bool ta = pick(0, 1), tb = pick(0, 1);
    std::string c = one_of({"", "n", "1,n", "m,1", "m,n"});
    for (auto& [from, to] : {std::pair{'m', m}, {'n', n}})
      if (const std::size_t at = c.find(from); at != std::string::npos)
        c.replace(at, 1, std::to_string(to));
    check("(a: f32" + (ta ? list({k, m}) : list({m, k})) + ", b: f32" +
              (tb ? list({n, k}) : list({k, n})) + (c.empty() ? "" : ", c: f32[" + c + "]") +
              ") { y = com.microsoft.FusedGemm(a, b" + (c.empty() ? "" : ", c") +
              ", alpha=" + one_of({"1.0", "0.5"}) + ", transA=" + std::to_string(ta) +
              ", transB=" + std::to_string(tb) +
              one_of({", activation=\"Relu\"", ", activation=\"Tanh\""}) + ") return y }",
          "gemm_f32", pick(1, 3));
  }
}

TEST_P(Kernels, MatMulF32) {
  for (const char* dims :
       {"[7,20],[20,9]", "[2,3,7,20],[20,9]", "[2,3,7,20],[2,3,20,9]", "[3,1,20],[3,20,40]",
        "[7,20],[4,20,5]", "[2,1,4,3],[5,3,6]", "[1,500],[500,64]", "[1,1,1,8],[6,1,8,2]"}) {
    const std::string text(dims);
    const std::size_t cut = text.find("],") + 1;
    check("(a: f32" + text.substr(0, cut) + ", b: f32" + text.substr(cut + 1) +
              ") { y = MatMul(a, b) return y }",
          "gemm_f32", pick(1, 3));
  }
}

TEST_P(Kernels, BinaryF32) {
  for (const char* dims :
       {"[5],[5]", "[4,5,33],[4,5,33]", "[4,5,33],[33]", "[4,5,33],[5,1]", "[4,1,33],[5,1]",
        "[2,3,4],[]", "[],[7]", "[3,1,1],[2,3,4,50]", "[100,300],[100,300]", "[1],[1]"}) {
    const std::string text(dims);
    const std::size_t cut = text.find("],") + 1;
    check("(a: f32" + text.substr(0, cut) + ", b: f32" + text.substr(cut + 1) +
              ") { y = " + one_of({"Add", "Add"}) + "(a, b) return y }",
          "binary_f32", pick(1, 2));
  }
}

TEST_P(Kernels, UnaryF32) {
  for (std::string_view op : kernel_named("unary_f32").operators)
    for (int n : {1, 7, 33, 40000}) {
      const std::string clip =
          one_of({", f32[]{-0.5}, f32[]{1.5}", ", f32[]{-0.5}", ", _, f32[]{1.5}"});
      check("(x: f32" + list({n}) + ") { y = " + std::string(op) + "(x" +
                (op == "Clip" ? clip : "") + ") return y }",
            "unary_f32", pick(1, 2));
    }
}

// The example beside each kernel: a run of it allocates nothing, and has the reference's numbers.
TEST_P(Kernels, EachExampleAllocatesNothing) {
  for (const cpu::Kernel* k : kernels::all()) {
    ASSERT_FALSE(k->example.empty()) << k->name << " has no example";
    check(std::string(k->example), std::string(k->name).c_str(), 2);
  }
}

constexpr Rounding roundings[] = {Rounding::f32_even, Rounding::fixed31_single,
                                  Rounding::fixed31_double};

TEST_P(Kernels, ConvI8) {
  for (int i = 0; i < 90; i++) {
    rounding = roundings[i % 3];
    check(convolution(true, false), "conv_i8", pick(1, 3));
  }
}

TEST_P(Kernels, DepthwiseI8) {
  for (int i = 0; i < 60; i++) {
    rounding = roundings[i % 3];
    check(convolution(true, true), "depthwise_i8", pick(1, 2));
  }
}

TEST_P(Kernels, GemmI8) {
  for (int i = 0; i < 60; i++) {
    rounding = roundings[i % 3];
    const int m = one_of({1, 2, 5, 13, 40}), n = one_of({1, 7, 16, 33, 70}),
              k = one_of({1, 3, 17, 64, 401});
    const bool matmul = pick(0, 1), tb = !matmul && pick(0, 1), bias = !matmul && pick(0, 1),
               relu = !matmul && pick(0, 1);
    std::string scales, zeros;
    for (int c = 0; c < n; c++) {
      scales += (c ? ",0.0" : "0.0") + std::to_string(pick(100, 200));
      zeros += c ? ",0" : "0";
    }
    const std::string by_column = " q([" + scales + "],[" + zeros + "], axis=" + (tb ? "0)" : "1)");
    const bool stack = matmul && pick(0, 1);
    check("(a: " + one_of<std::string>({"i8", "u8"}) + (stack ? list({2, m, k}) : list({m, k})) +
              " q(0.02, " + std::to_string(pick(0, 100)) + "), w: i8" +
              (tb ? list({n, k}) : list({k, n})) + one_of<std::string>({by_column, " q(0.01, 0)"}) +
              (bias ? ", b: i32" + one_of({list({n}), list({1, n})}) + " q(0.0002, 0)" : "") +
              ") { y: " + one_of<std::string>({"i8", "u8"}) +
              (stack ? list({2, m, n}) : list({m, n})) + " q(" +
              one_of<std::string>({"0.1", "0.7"}) + ", " + std::to_string(pick(0, 90)) +
              ") = " + (matmul ? "MatMul" : "com.microsoft.FusedGemm") + "(a, w" +
              (bias ? ", b" : "") + (relu ? ", activation=\"Relu\"" : "") +
              (matmul ? "" : ", transB=" + std::to_string(tb)) + ") return y }",
          "gemm_i8", pick(1, 3));
  }
}

TEST_P(Kernels, Pools) {
  for (int i = 0; i < 60; i++) {
    const bool average = pick(0, 1);
    const int kh = pick(1, 4), kw = pick(1, 4), h = kh + pick(0, 14), w = kw + pick(0, 50),
              dh = pick(1, 2), dw = pick(1, 2);
    const std::string type = average ? "f32" : one_of<std::string>({"f32", "i8", "u8"});
    std::string text = "(x: " + type + list({pick(1, 2), pick(1, 3), h * dh, w * dw}) + ") { y = ";
    text += average ? "AveragePool" : "MaxPool";
    text += "(x, kernel_shape=" + list({kh, kw}) + ", strides=" + list({pick(1, 3), pick(1, 3)}) +
            ", dilations=" + list({dh, dw});
    if (dh == 1 && dw == 1)
      text +=
          ", pads=" + list({pick(0, kh - 1), pick(0, kw - 1), pick(0, kh - 1), pick(0, kw - 1)});
    if (average) text += ", count_include_pad=" + std::to_string(pick(0, 1));
    check(text + ") return y }", "pool", pick(1, 2));
  }
  check(
      "(x: i8[1,3,9,40] q(0.1, 5)) { y: i8[1,3,4,20] q(0.1, 5) = MaxPool(x, kernel_shape=[3,2], "
      "strides=[2,2]) return y }",
      "pool");
}

TEST_P(Kernels, MaxPoolKeepsNaN) {
  const Graph g = parse("(x: f32[1,1,1,40]) { y = MaxPool(x, kernel_shape=[1,3]) return y }");
  std::vector<float> x(40, 1.0f);
  x[7] = x[30] = std::nanf("");
  x[12] = 5;
  const Tensor in = make_floats({1, 1, 1, 40}, x);
  RunnerOptions options;
  options.isa = GetParam();
  compare(Runner(g, std::move(options)).run(std::span(&in, 1))[0],
          evaluate(g, std::span(&in, 1))[0], 0, 0);
}

TEST_P(Kernels, Rows) {
  for (int n : {1, 3, 8, 16, 17, 64, 100, 1000}) {
    const std::string dims = list({pick(1, 4), pick(1, 5), n});
    check("(x: f32" + dims + ") { y = Softmax(x) return y }", "rows_f32", pick(1, 2));
    check("(x: f32" + dims + ", s: f32[" + std::to_string(n) + "], b: f32[" + std::to_string(n) +
              "]) { y = LayerNormalization(x, s, b) return y }",
          "rows_f32", pick(1, 2));
    check("(x: f32" + dims + ") { y = Gelu(x) return y }", "rows_f32", pick(1, 2));
  }
  check("(x: f32[64,128]) { y = Gelu(x) return y }", "rows_f32", 2);
}

TEST_P(Kernels, RowsOfCodes) {
  for (int n : {1, 2, 17, 100, 1000})
    for (const char* in : {"i8", "u8"})
      for (const char* out : {"i8", "u8"}) {
        const std::string dims = list({pick(1, 4), pick(1, 50), n});
        check("(x: " + std::string(in) + dims + " q(0.05, 3)) { y: " + out + dims +
                  " q(0.003, 2) = Softmax(x) return y }",
              "softmax_i8", pick(1, 2));
        const std::string row = "f32[" + std::to_string(n) + "]";
        check("(x: " + std::string(in) + dims + " q(0.05, 3), s: " + row + ", b: " + row +
                  ") { y: " + out + dims + " q(0.03, 2) = LayerNormalization(x, s, b) return y }",
              "norm_i8", pick(1, 2));
        check("(x: " + std::string(in) + dims + " q(0.05, 3), s: " + row + ") { y: " + out + dims +
                  " q(0.03, 2) = RMSNormalization(x, s) return y }",
              "norm_i8", pick(1, 2));
      }
}

TEST_P(Kernels, SoftmaxKeepsNaN) {
  const Graph g = parse("(x: f32[3,20]) { y = Softmax(x) return y }");
  std::vector<float> x(60, 1.0f);
  x[3] = std::nanf("");
  x[39] = std::nanf("");
  x[45] = -INFINITY;
  const Tensor in = make_floats({3, 20}, x);
  RunnerOptions options;
  options.isa = GetParam();
  compare(Runner(g, std::move(options)).run(std::span(&in, 1))[0],
          evaluate(g, std::span(&in, 1))[0], 1e-5f, 1e-7f);
}

TEST_P(Kernels, GlobalAveragePool) {
  check("(x: f32[2,40,7,9]) { y = GlobalAveragePool(x) return y }", "global_average_pool", 2);
  for (Rounding mode : roundings) {
    rounding = mode;
    check(
        "(x: i8[2,40,7,9] q(0.1, 3)) { y: i8[2,40,1,1] q(0.02, -5) = GlobalAveragePool(x) return y "
        "}",
        "global_average_pool", 2);
    check(
        "(x: u8[1,3,50] q(0.1, 130)) { y: i8[1,3,1] q(0.02, -5) = GlobalAveragePool(x) return y }",
        "global_average_pool");
  }
}

TEST_P(Kernels, BinaryI8) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"})
    for (const char* dims : {"[5] [5] [5]", "[4,5,33] [4,5,33] [4,5,33]", "[4,5,33] [5,1] [4,5,33]",
                             "[4,1,33] [5,1] [4,5,33]", "[1] [70] [70]"}) {
      std::istringstream parts(dims);
      std::string a, b, y;
      parts >> a >> b >> y;
      check("(a: " + one_of<std::string>({"i8", "u8"}) + a + " q(0.1, 3), b: i8" + b +
                " q(0.037, -7)) { y: " + one_of<std::string>({"i8", "u8"}) + y +
                " q(0.11, 20) = " + op + "(a, b) return y }",
            "binary_i8", pick(1, 2));
    }
}

TEST_P(Kernels, RecodeI8) {
  for (int n : {1, 7, 16, 100, 40000}) {
    const std::string dims = list({n});
    for (const std::string type : {"i8", "u8"}) {
      check("(x: f32" + dims + ") { y: " + type + dims +
                " q(0.02, 7) = longshore.Quantize(x) return y }",
            "recode_i8", 2);
      check("(x: " + type + dims + " q(0.3, 7)) { y = longshore.Dequantize(x) return y }",
            "recode_i8", 2);
    }
  }
}

TEST_P(Kernels, Tables) {
  for (const char* op : {"Sigmoid", "Tanh", "HardSwish", "Relu"})
    check(std::string("(x: i8[3,700] q(0.05, 11)) { y: i8[3,700] q(0.02, -30) = ") + op +
              "(x) return y }",
          "table", 2);
}

TEST_P(Kernels, Transpose) {
  const std::vector<std::pair<std::string, std::string>> rows = {{"[40,50]", "[1,0]"},
                                                                 {"[2,3,40,50]", "[0,2,3,1]"},
                                                                 {"[2,40,50,3]", "[0,3,1,2]"},
                                                                 {"[3,4,5,6]", "[0,2,1,3]"},
                                                                 {"[3,4,5,6]", "[3,2,1,0]"},
                                                                 {"[7,1,9]", "[1,2,0]"},
                                                                 {"[2,3,4,5,6]", "[4,0,3,1,2]"},
                                                                 {"[8]", "[0]"},
                                                                 {"[1,1]", "[1,0]"}};
  for (const auto& [dims, perm] : rows)
    for (const char* type : {"f32", "i8", "i64", "f16"})
      check(
          std::string("(x: ") + type + dims + ") { y = Transpose(x, perm=" + perm + ") return y }",
          "transpose", pick(1, 2));
}

TEST_P(Kernels, ResizeNearest) {
  for (const char* how : {"coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"",
                          "coordinate_transformation_mode=\"half_pixel\""})
    for (const char* scales : {"1,1,2,2", "1,1,3,1", "1,1,4,5"})
      for (const char* type : {"f32", "i8"})
        check(std::string("(x: ") + type + "[2,3,5,7]) { y = Resize(x, _, f32[4]{" + scales +
                  "}, mode=\"nearest\", " + how + ") return y }",
              "resize_nearest", 2);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Kernels,
                         testing::Values(Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512vnni),
                         [](const auto& info) { return std::string(cpu::name(info.param)); });

}  // namespace
}  // namespace longshore::tests::kernels_test
