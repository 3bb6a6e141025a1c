// Graphs written as ONNX and read again: every operator's examples, names, dims, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "quantize/import.hpp"
#include "random.hpp"
#include "read/read.hpp"
#include "write/onnx.hpp"
#include "write/standard.hpp"

namespace longshore::tests::write_onnx_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph written_and_read(const Graph& g, const OnnxOptions& options = {}) {
  return read_onnx(onnx_file(g, options).bytes, "written", ".").graph;
}

std::vector<std::string> operators(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes) out.push_back(qualified_name(*n.op));
  return out;
}

bool has_codes(const Graph& g) {
  return std::ranges::any_of(g.values, [](const Value& v) { return v.type.quantised(); });
}

/// Weights and biases of codes as constants, as they are in models: with computed ones an integer
/// operator has no form of ONNX that is read back as such.
Graph with_constant_weights(Graph g) {
  const std::vector<Tensor> in = random_inputs(g, seed());
  const std::vector<ValueId> inputs = g.inputs;
  for (const Node& n : g.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); k++) {
      const InputRole role = n.op->schema.role(k);
      const auto at = std::ranges::find(inputs, n.inputs[k]);
      if ((role != InputRole::weights && role != InputRole::bias) || at == inputs.end() ||
          !g[*at].type.quantised())
        continue;
      g[*at].constant = in[static_cast<std::size_t>(at - inputs.begin())];
      std::erase(g.inputs, *at);
    }
  return tidy(g);
}

struct Case {
  const OpDef* op;
  std::string_view text;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name is GoogleTest's
void PrintTo(const Case& c, std::ostream* out) { *out << c.text; }

/// Of ONNX, or known to become nodes of ONNX; docs/extending.md adds one that is neither.
bool has_counterpart(const OpDef& op) {
  return op.domain.empty() || op.quant == Quant::recode || op.to_standard;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const OpDef* op : ops::all())
    for (std::string_view text : op->examples)
      if (op->deterministic && has_counterpart(*op)) out.push_back({op, text});
  return out;
}

class WriteOnnx : public testing::TestWithParam<Case> {};

TEST_P(WriteOnnx, WhatIsReadAgainComputesTheSame) {
  const Graph g = with_constant_weights(parse(GetParam().text)), plain = written_and_read(g);
  const std::vector<Tensor> in = random_inputs(g, seed());
  ASSERT_EQ(plain.inputs.size(), g.inputs.size());
  for (std::size_t i = 0; i < g.inputs.size(); i++) {
    TensorType type = g[g.inputs[i]].type;
    type.quant = {};
    EXPECT_EQ(plain[plain.inputs[i]].name, g[g.inputs[i]].name);
    EXPECT_EQ(plain[plain.inputs[i]].type, type);
  }
  for (std::size_t i = 0; i < g.outputs.size(); i++)
    EXPECT_EQ(plain[plain.outputs[i]].name, g[g.outputs[i]].name);
  EXPECT_FALSE(has_codes(plain));
  EXPECT_EQ(evaluate(import_quantised(plain), in), evaluate(g, in)) << print(plain);
  const Graph bytes = import_quantised(written_and_read(g, {.unsigned_bytes = true}));
  EXPECT_EQ(evaluate(bytes, in), evaluate(g, in)) << print(bytes);
}

INSTANTIATE_TEST_SUITE_P(Ops, WriteOnnx, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = qualified_name(*info.param.op) + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(WriteOnnxModel, ComputesInFloatBetweenPairs) {
  const Graph g = parse(
      "(x: f32[n,2,5,5]) { q: i8[n,2,5,5] q(0.1, 3) = longshore.Quantize(x) "
      "c: i8[n,1,5,5] q(0.05, -128) = com.microsoft.FusedConv(q, i8[1,2,1,1] q(0.02, 0) {7, -9}, "
      "i32[1] q(0.002, 0) {11}, activation=\"Clip\", activation_params=[0.0, 6.0]) "
      "r: i8[n,1,5,5] q(0.04, -100) = longshore.Requantize(c) "
      "y = longshore.Dequantize(r) return y }");
  // 6 is code -8 and cuts codes off: the clamp stays.
  EXPECT_THAT(operators(with_explicit_scales(with_standard_operators(g))),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear",
                          "DequantizeLinear", "Conv", "Clip", "QuantizeLinear", "DequantizeLinear",
                          "QuantizeLinear", "DequantizeLinear"));
}

TEST(WriteOnnxModel, LeavesOutAClampThatSaturationIs) {
  const Graph g = parse(
      "(x: i8[1,2,5,5] q(0.1, 3)) { y: i8[1,1,5,5] q(0.05, -128) = com.microsoft.FusedConv(x, "
      "i8[1,2,1,1] q(0.02, 0) {7, -9}, activation=\"Relu\") return y }");
  EXPECT_THAT(operators(with_standard_operators(g)), ElementsAre("Conv"));
}

TEST(WriteOnnxModel, RowsOfAGemmKeepTheirOpenDims) {
  const Graph g = parse(
      "(a: f32[n,m,4], b: f32[5,4]) { y = com.microsoft.FusedGemm(a, b, transB=1, "
      "activation=\"Tanh\") return y }");
  const Graph written = written_and_read(g);
  EXPECT_THAT(operators(written),
              ElementsAre("Shape", "Concat", "Reshape", "Gemm", "Tanh", "Reshape"));
  const std::vector<Tensor> in = random_inputs(g, seed());
  EXPECT_EQ(evaluate(written, in), evaluate(g, in));
}

TEST(WriteOnnxModel, KeepsDimsAndMetadataAndTheOpsetThatItNeeds) {
  const auto opset = [](std::string_view text, int read_with) {
    return onnx_file(parse(text), {.opset = read_with}).opset;
  };
  EXPECT_EQ(opset("(x: f32[2]) { y = Relu(x) return y }", 0), 21);
  EXPECT_EQ(opset("(x: f32[2]) { y = Relu(x) return y }", 23), 23);
  EXPECT_EQ(opset("(x: f32[2]) { y = Swish(x) return y }", 17), 24);
  const Graph g = parse("(x: f32[batch,?,3]) { y = Relu(x) return y }");
  const ReadResult r =
      read_onnx(onnx_file(g, {.metadata = {{"author", "us"}}}).bytes, "written", ".");
  EXPECT_EQ(r.graph[r.graph.inputs[0]].type, g[g.inputs[0]].type);
  EXPECT_EQ(r.graph[r.graph.outputs[0]].type, g[g.outputs[0]].type);
  EXPECT_EQ(r.metadata.at("author"), "us");
}

TEST(WriteOnnxModel, AnOutputThatIsGivenTwiceIsCopied) {
  const Graph g = parse("(x: f32[2]) { y = Relu(x) return y, y, x }");
  const Graph written = written_and_read(g);
  const std::vector<Tensor> in = random_inputs(g, seed());
  EXPECT_EQ(evaluate(written, in), evaluate(g, in));
}

TEST(WriteOnnxModel, APartThatNobodyUsesHasAName) {
  const Graph g = parse("(x: f32[2,7]) { a, _, b = Split(x, axis=1, num_outputs=3) return a, b }");
  const Graph written = written_and_read(g);
  ASSERT_EQ(written.nodes[0].outputs.size(), 3u);
  EXPECT_NE(written.nodes[0].outputs[1], no_value);
}

TEST(WriteOnnxModel, EqualGraphsGiveEqualBytes) {
  const Graph g = parse("(x: i8[4] q(0.1, 3)) { y: i8[4] q(0.2, 1) = Sigmoid(x) return y }");
  EXPECT_EQ(onnx_file(g).bytes, onnx_file(parse(print(g))).bytes);
}

/// An operator of nobody's: what a file in src/ops that ONNX does not know looks like.
constexpr OpDef foreign = {.name = "Cube", .domain = "example"};

TEST(WriteOnnxModel, NamesWhatOnnxLacks) {
  Graph g = parse("(x: f32[2]) { y = Relu(x) return y }");
  g.nodes[0].op = &foreign;
  g.nodes[0].origin.name = "cubes";
  try {
    onnx_file(g);
    FAIL() << "it was written";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unsupported);
    EXPECT_THAT(e.what(),
                HasSubstr("node 'cubes' (example.Cube): ONNX has no operator example.Cube"));
  }
}

TEST(WriteOnnxModel, TwoGigabytesAreTooMuch) {
  Graph g = parse("(x: f32[1]) { y = Relu(x) return y }");
  // Never read: refused before a byte is copied.
  const float one = 1;
  const Tensor large{DType::f32, Shape{std::int64_t{1} << 29}, copy_blob(&one, sizeof one)};
  const ValueId y = g.add("Add", {g.outputs[0], g.add_constant("large", large)});
  g.outputs[0] = y;
  try {
    onnx_file(g);
    FAIL() << "it was written";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("an ONNX file at most 2147483647"));
  }
}

}  // namespace
}  // namespace longshore::tests::write_onnx_test
