// One activation in all places: behind each product that can end with it, fused and apart, in
// float and in codes, by the reference, by the kernels, by the NPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "measure/runner.hpp"
#include "npu_case.hpp"
#include "optimize/optimize.hpp"
#include "quantize/import.hpp"
#include "quantize/quantize.hpp"
#include "tensor/quant.hpp"

namespace longshore::tests::activation_test {
namespace {

struct Product {
  const char *name, *inputs, *constants, *call;
};
constexpr Product products[] = {
    {"Conv", "x: f32[1,4,6,6]", "w = f32[8,4,3,3]", "Conv(x, w, b, pads=[1,1,1,1])"},
    {"Conv1D", "x: f32[1,4,16]", "w = f32[8,4,3]", "Conv(x, w, b, strides=[2])"},
    {"Depthwise", "x: f32[1,8,6,6]", "w = f32[8,1,3,3]", "Conv(x, w, b, group=8)"},
    {"Gemm", "x: f32[3,16]", "w = f32[8,16]", "Gemm(x, w, b, transB=1)"},
    {"MatMul", "x: f32[3,16]", "w = f32[16,8]", "MatMul(x, w)"},
};
constexpr const char* functions[] = {"Relu(p)",
                                     "Clip(p, f32[]{0}, f32[]{6})",
                                     "Clip(p, f32[]{-0.75}, f32[]{1.5})",
                                     "Clip(p, _, f32[]{0.5})",
                                     "Clip(p, f32[]{-0.25})",
                                     "LeakyRelu(p, alpha=0.125)",
                                     "LeakyRelu(p)",
                                     "Sigmoid(p)",
                                     "Tanh(p)",
                                     "HardSigmoid(p)",
                                     "HardSigmoid(p, alpha=0.5, beta=0.25)"};

class Activations : public testing::TestWithParam<std::tuple<Product, const char*>> {
 protected:
  /// The product, then the function, with drawn constants.
  Graph apart() const {
    const auto& [product, function] = GetParam();
    std::mt19937 rng(seed());
    Graph g = parse(std::string("(") + product.inputs + ") { " + product.constants +
                    "{0} b = f32[8]{0} p = " + product.call + " y = " + function + " return y }");
    for (Value& v : g.values)
      if (v.constant.present() && v.constant.dtype == DType::f32 && v.constant.elements() > 1) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < v.constant.elements(); i++)
          values.push_back(static_cast<float>(static_cast<int>(rng() % 65) - 32) / 64);
        v.constant = make_floats(v.constant.shape, values);
      }
    return g;
  }
  Activation activation(const Graph& g) const { return *activation_of(g, g.nodes.back()); }
  /// The two nodes as one, without the pass.
  Graph fused() const {
    Graph g = apart();
    std::optional<Node> whole = fused_with(g, g.nodes[g.nodes.size() - 2], activation(g));
    check(whole.has_value(), "there is a fused operator");
    whole->outputs = g.nodes.back().outputs;
    g.nodes.pop_back();
    g.nodes.back() = *whole;
    return tidy(infer(g));
  }
  std::vector<Tensor> inputs(const Graph& g, unsigned more) const {
    std::mt19937 rng(seed() + more);
    std::vector<float> values;
    const Shape shape = *g[g.inputs[0]].type.shape();
    for (std::int64_t i = 0; i < shape.elements(); i++)
      values.push_back(static_cast<float>(static_cast<int>(rng() % 129) - 64) / 64);
    return {make_floats(shape, values)};
  }
  Graph quantised(const Graph& g) const {
    std::vector<std::vector<Tensor>> samples;
    for (unsigned i = 0; i < 16; i++) samples.push_back(inputs(g, i));
    return quantize(optimize(g), calibration_from(samples));
  }
};

TEST_P(Activations, FusedIsTheSameNumbers) {
  const Graph a = apart(), f = fused();
  ASSERT_EQ(f.nodes.size(), 1u);
  EXPECT_TRUE(parse(print(f)) == f) << print(f);
  Activation again;
  ASSERT_TRUE(Activation::from(f.nodes[0].attributes, again).ok());
  EXPECT_EQ(again, activation(a));
  EXPECT_EQ(evaluate(f, inputs(f, 1)), evaluate(a, inputs(a, 1)));
}

TEST_P(Activations, TheKernelAgreesWithTheReference) {
  const Graph f = fused();
  Runner runner(f, {});
  const std::vector<Tensor> in = inputs(f, 2), want = evaluate(f, in), got = runner.run(in);
  EXPECT_NE(runner.kernels().at(0), "") << "no fast kernel takes " << summary(f);
  for (std::size_t i = 0; i < want[0].values<float>().size(); i++)
    EXPECT_NEAR(got[0].values<float>()[i], want[0].values<float>()[i], 2e-5) << i;
}

TEST_P(Activations, ThePassFusesClamps) {
  const Graph g = optimize(apart());
  const bool clamps = activation(apart()).kind == Activation::Kind::clamp;
  EXPECT_EQ(g.nodes.size(), clamps ? 1u : 2u) << summary(g);
}

// The integer node with the clamp is the one without it, its codes held between the codes of the
// bounds; kernel and reference give the same bytes.
TEST_P(Activations, ClampsNarrowTheCodes) {
  const Activation a = activation(apart());
  if (!a.narrows()) return;
  const Graph q = quantised(apart());
  ASSERT_EQ(q.nodes.size(), 3u) << summary(q);
  const Node& node = q.nodes[1];
  Graph plain = q;
  Activation{}.to(plain.nodes[1].attributes);
  const TensorType& type = q[node.output()].type;
  const float s = type.quant.scale[0];
  const std::int32_t z = type.quant.zero_point[0];
  const auto bound = [&](float x) { return quantise(x, s, z, -128, 127); };
  const auto codes = [&](const Graph& g, const Tensor& in) {
    Tensor out;
    evaluate(g, std::vector{in}, {.observe = [&](ValueId v, const TensorView& t) {
               if (v == node.output()) out = copy_tensor(t);
             }});
    return out;
  };
  const Tensor in = inputs(q, 3)[0];
  const Tensor narrow = codes(q, in), wide = codes(plain, in);
  for (std::size_t i = 0; i < narrow.values<std::int8_t>().size(); i++)
    EXPECT_EQ(narrow.values<std::int8_t>()[i],
              std::clamp<std::int32_t>(wide.values<std::int8_t>()[i], bound(a.low), bound(a.high)));
  Runner runner(q, {});
  EXPECT_EQ(runner.run(std::vector{in}), evaluate(q, std::vector{in}));
}

TEST_P(Activations, OthersBecomeTables) {
  const Activation a = activation(apart());
  const Graph q = quantised(fused());
  EXPECT_EQ(q.nodes.size(), a.narrows() ? 3u : 4u) << summary(q);
  const std::vector<Tensor> in = inputs(q, 4), want = evaluate(apart(), in), got = evaluate(q, in);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < want[0].values<float>().size(); i++) {
    const double x = want[0].values<float>()[i], e = got[0].values<float>()[i] - x;
    signal += x * x;
    noise += e * e;
  }
  EXPECT_GT(10 * std::log10(signal / std::max(noise, 1e-30)), 25);
}

// What a QDQ model says with a Clip between product and QuantizeLinear narrows the codes too.
TEST_P(Activations, ClampsOfQdqModelsNarrow) {
  const Activation a = activation(apart());
  if (!a.narrows()) return;
  const auto& [product, function] = GetParam();
  std::string dims(product.inputs);
  dims = dims.substr(dims.find('['));
  const std::string text = std::string("(c: i8") + dims +
                           ") { x = DequantizeLinear(c, f32[]{0.0625}, i8[]{3}) w = "
                           "DequantizeLinear(" +
                           std::string(product.constants).replace(0, 7, "i8") +
                           "{5}, f32[]{0.03125}, i8[]{0}) b = DequantizeLinear(i32[8]{40}, "
                           "f32[]{0.001953125}) p = " +
                           product.call + " r = " + function +
                           " y = QuantizeLinear(r, f32[]{0.25}, i8[]{-7}) return y }";
  const Graph g = parse(text), q = import_quantised(g);
  ASSERT_EQ(q.nodes.size(), 1u) << summary(q);
  for (unsigned i = 0; i < 4; i++) {
    const std::vector<Tensor> in = random_codes(q, seed() + i);
    EXPECT_EQ(evaluate(q, in), evaluate(g, in)) << summary(q);
  }
}

TEST_P(Activations, ClampsRunOnTheNpu) {
  const Activation a = activation(apart());
  if (!a.narrows()) return;
  Graph q = quantised(apart());
  q.inputs = {q.nodes[1].inputs[0]};  // without the casts at the ends
  q.outputs = {q.nodes[1].output()};
  q.nodes = {q.nodes[1]};
  const Graph core = tidy(infer(q));
  const Target target = load_target("shore-1");
  const Placement p = place(core, target, {.by_price = false});
  std::string reasons;
  for (const Reason& r : p.nodes[0].reasons()) reasons += r.text + "; ";
  ASSERT_TRUE(p.nodes[0].on_npu()) << reasons;
  expect_exact(core, target, 0, seed());
}

INSTANTIATE_TEST_SUITE_P(Products, Activations,
                         testing::Combine(testing::ValuesIn(products),
                                          testing::ValuesIn(functions)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::to_string(info.index);
                         });

TEST(Activation, WhatCannotBeIsSaid) {
  Activation a;
  EXPECT_FALSE(Activation::from("Relu6", {}, a).ok());
  EXPECT_FALSE(Activation::from("Clip", {}, a).ok());
  const float three[] = {1, 2, 3};
  EXPECT_FALSE(Activation::from("HardSigmoid", three, a).ok());
}

}  // namespace
}  // namespace longshore::tests::activation_test
