// The fast kernels on every instruction set that this machine has, against the reference, over
// random shapes: floats within the operator's bound, integers byte for byte.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/bind.hpp"
#include "measure/runner.hpp"
#include "random.hpp"

namespace longshore::tests {
namespace {

using cpu::Isa;

class Kernels : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!cpu::has_isa(GetParam())) GTEST_SKIP() << "this machine has no " << cpu::name(GetParam());
  }
  std::mt19937 rng{seed()};
  int pick(int from, int to) { return from + static_cast<int>(rng() % static_cast<unsigned>(to - from + 1)); }
  template <class T>
  T one_of(std::initializer_list<T> list) { return *(list.begin() + pick(0, static_cast<int>(list.size()) - 1)); }

  /// Runs the graph with and without fast kernels and compares; every node must use `kernel`.
  void check(const std::string& text, const char* kernel, int threads = 1) {
    SCOPED_TRACE(text);
    const Graph g = parse(text);
    std::vector<Tensor> in;
    for (ValueId v : g.inputs) in.push_back(random(g[v].type));
    RunnerOptions options;
    options.isa = GetParam();
    options.threads = threads;
    Runner runner(g, std::move(options));
    for (const std::string& name : runner.kernels()) ASSERT_EQ(name, kernel);
    const std::vector<Tensor> want = evaluate(g, in), got = runner.run(in);
    ASSERT_EQ(got.size(), want.size());
    const OpDef& op = *g.nodes.back().op;
    for (std::size_t i = 0; i < got.size(); i++) compare(got[i], want[i], op.float_rtol, op.float_atol);
  }

  Tensor random(const TensorType& type) {
    const Shape shape = *type.shape();
    if (!type.quantised()) return random_tensor(rng, type.dtype, shape);
    std::vector<std::byte> bytes(static_cast<std::size_t>(shape.elements()) * size_bytes(type.dtype));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
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
    for (std::size_t i = 0; i < g.size(); i++) {
      if (std::isnan(w[i])) ASSERT_TRUE(std::isnan(g[i])) << i;
      else if (std::isinf(w[i])) ASSERT_EQ(g[i], w[i]) << i;
      else ASSERT_LE(std::fabs(g[i] - w[i]), atol + rtol * std::fabs(w[i])) << i << ": " << g[i] << " for " << w[i];
    }
  }

  std::string convolution(bool quantised, bool depthwise);
};

std::string list(std::initializer_list<int> numbers) {
  std::string out = "[";
  for (int n : numbers) out += (out.size() > 1 ? "," : "") + std::to_string(n);
  return out + "]";
}

/// A Conv or FusedConv over random dims as text.
std::string Kernels::convolution(bool quantised, bool depthwise) {
  const int groups = depthwise ? pick(2, 9) : one_of({1, 1, 1, 2, 3}), in = depthwise ? 1 : one_of({1, 2, 3, 5, 8, 17, 40}),
            out = depthwise ? 1 : std::max(2, pick(1, 35)), n = pick(1, 2), kh = pick(1, 5), kw = pick(1, 5), dh = pick(1, 2),
            dw = pick(1, 2), sh = pick(1, 3), sw = pick(1, 3), h = (kh - 1) * dh + pick(1, 20), w = (kw - 1) * dw + pick(1, 40);
  const bool one_dim = pick(0, 5) == 0, bias = pick(0, 1), fused = pick(0, 1);
  const int t = pick(0, kh - 1), l = pick(0, kw - 1), b = pick(0, kh - 1), r = pick(0, kw - 1);
  const int m = groups * out;
  const std::string x_dims = one_dim ? list({n, groups * in, w}) : list({n, groups * in, h, w});
  const std::string w_dims = one_dim ? list({m, in, kw}) : list({m, in, kh, kw});
  std::string text = "(x: ";
  if (!quantised) {
    text += "f32" + x_dims + ", w: f32" + w_dims + (bias ? ", b: f32[" + std::to_string(m) + "]" : "");
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
    text += one_of({"i8", "i8", "u8"}) + x_dims + " q(0.02, " + std::to_string(pick(0, 100)) + "), w: i8" + w_dims;
    text += per_channel ? " q([" + scales + "],[" + zeros + "], axis=0)" : " q(0.013, 0)";
    if (bias) text += ", b: i32[" + std::to_string(m) + "]" + (per_channel ? " q([" + bias_scales + "],[" + zeros + "], axis=0)" : " q(0.00026, 0)");
  }
  text += ") { y";
  if (quantised) {
    const auto extent = [](int size, int pad, int k, int d, int s) { return (size + pad - (k - 1) * d - 1) / s + 1; };
    const int oh = extent(h, t + b, kh, dh, sh), ow = extent(w, l + r, kw, dw, sw);
    text += ": i8" + (one_dim ? list({n, m, ow}) : list({n, m, oh, ow})) + " q(" + one_of({"0.3", "0.05", "1.7"}) + ", " +
            std::to_string(pick(-100, 100)) + ")";
  }
  text += std::string(" = ") + (fused ? "com.microsoft.FusedConv" : "Conv") + "(x, w" + (bias ? ", b" : "");
  if (fused) text += quantised ? one_of({", activation=\"Relu\"", ", activation=\"Clip\", activation_params=[0.0,6.0]"})
                               : one_of({", activation=\"Relu\"", ", activation=\"Clip\", activation_params=[-1.0,6.0]",
                                         ", activation=\"LeakyRelu\", activation_params=[0.1]", ", activation=\"Sigmoid\"",
                                         ", activation=\"HardSigmoid\", activation_params=[0.2,0.5]", ", activation=\"Tanh\""});
  text += ", group=" + std::to_string(groups);
  text += one_dim ? ", pads=" + list({l, r}) + ", strides=" + list({sw}) + ", dilations=" + list({dw})
                  : ", pads=" + list({t, l, b, r}) + ", strides=" + list({sh, sw}) + ", dilations=" + list({dh, dw});
  return text + ") return y }";
}

TEST_P(Kernels, ConvF32) {
  for (int i = 0; i < 60; i++) check(convolution(false, false), "conv_f32", pick(1, 3));
}

TEST_P(Kernels, DepthwiseF32) {
  for (int i = 0; i < 60; i++) check(convolution(false, true), "depthwise_f32", pick(1, 2));
}

TEST_P(Kernels, ConvF32Deep) {  // several passes over the depth, many pixels
  check("(x: f32[1,70,40,33], w: f32[50,70,3,3], b: f32[50]) { y = com.microsoft.FusedConv(x, w, b, pads=[1,1,1,1], "
        "activation=\"Relu\") return y }", "conv_f32", 2);
  check("(x: f32[1,8,5,5], w: f32[30,8,3,3], b: f32[30], z: f32[1,30,5,5]) { y = com.microsoft.FusedConv(x, w, b, z, "
        "pads=[1,1,1,1], activation=\"Relu\") return y }", "conv_f32", 2);
}

TEST_P(Kernels, GemmF32) {
  for (int i = 0; i < 60; i++) {
    const int m = one_of({1, 1, 2, 5, 13, 60, 130}), n = one_of({1, 7, 16, 33, 70}), k = one_of({1, 3, 17, 64, 400});
    const bool ta = pick(0, 1), tb = pick(0, 1);
    std::string c = one_of({"", "n", "1,n", "m,1", "m,n"});
    for (auto& [from, to] : {std::pair{'m', m}, {'n', n}})
      if (const std::size_t at = c.find(from); at != std::string::npos) c.replace(at, 1, std::to_string(to));
    check("(a: f32" + (ta ? list({k, m}) : list({m, k})) + ", b: f32" + (tb ? list({n, k}) : list({k, n})) +
              (c.empty() ? "" : ", c: f32[" + c + "]") + ") { y = com.microsoft.FusedGemm(a, b" + (c.empty() ? "" : ", c") +
              ", alpha=" + one_of({"1.0", "0.5"}) + ", transA=" + std::to_string(ta) + ", transB=" + std::to_string(tb) +
              one_of({", activation=\"Relu\"", ", activation=\"Tanh\""}) + ") return y }",
          "gemm_f32", pick(1, 3));
  }
}

TEST_P(Kernels, MatMulF32) {
  for (const char* dims : {"[7,20],[20,9]", "[2,3,7,20],[20,9]", "[2,3,7,20],[2,3,20,9]", "[3,1,20],[3,20,40]",
                           "[7,20],[4,20,5]", "[2,1,4,3],[5,3,6]", "[1,500],[500,64]", "[1,1,1,8],[6,1,8,2]"}) {
    const std::string text(dims);
    const std::size_t cut = text.find("],") + 1;
    check("(a: f32" + text.substr(0, cut) + ", b: f32" + text.substr(cut + 1) + ") { y = MatMul(a, b) return y }", "gemm_f32",
          pick(1, 3));
  }
}

TEST_P(Kernels, BinaryF32) {
  for (const char* dims : {"[5],[5]", "[4,5,33],[4,5,33]", "[4,5,33],[33]", "[4,5,33],[5,1]", "[4,1,33],[5,1]", "[2,3,4],[]",
                           "[],[7]", "[3,1,1],[2,3,4,50]", "[100,300],[100,300]", "[1],[1]"}) {
    const std::string text(dims);
    const std::size_t cut = text.find("],") + 1;
    check("(a: f32" + text.substr(0, cut) + ", b: f32" + text.substr(cut + 1) + ") { y = " + one_of({"Add", "Add"}) +
              "(a, b) return y }", "binary_f32", pick(1, 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Kernels, testing::Values(Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512vnni),
                         [](const auto& info) { return std::string(cpu::name(info.param)); });

}  // namespace
}  // namespace longshore::tests
