// Scales by block of an axis: the same numbers everywhere that a quantisation goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "ir/codec.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "program/bundle.hpp"
#include "random.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"
#include "write/bundle.hpp"

namespace longshore::tests::block_quant_test {
namespace {

struct Drawn {
  TensorType type;
  Tensor codes;
};

/// A tensor of 1 to 4 dims whose scales lie in blocks, the last of which may be short.
Drawn draw(std::mt19937& rng) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
  };
  Shape shape;
  for (int i = pick(1, 4); i > 0; i--) shape.push(pick(1, 7));
  Drawn d;
  const DType types[] = {DType::i8, DType::u8, DType::i16, DType::i4};
  d.type = TensorType(types[pick(0, 3)], shape);
  Quantisation& q = d.type.quant;
  q.axis = pick(0, shape.rank - 1);
  q.block = pick(1, 5);
  std::int64_t scales = 1;
  for (int i = 0; i < shape.rank; i++)
    scales *= i == q.axis ? (shape[i] + q.block - 1) / q.block : shape[i];
  for (std::int64_t i = 0; i < scales; i++) {
    q.scale.push_back(0.01f * static_cast<float>(pick(1, 50)));
    q.zero_point.push_back(d.type.dtype == DType::u8 ? pick(0, 9) : pick(-4, 4));
  }
  d.codes = random_tensor(rng, d.type.dtype, shape);
  return d;
}

/// The scale of the element at `at`, by the definition: the tensor of scales, row-major.
std::size_t scale_of(const Quantisation& q, const Shape& shape, std::span<const std::int64_t> at) {
  std::int64_t index = 0;
  for (int i = 0; i < shape.rank; i++) {
    const std::int64_t size = i == q.axis ? (shape[i] + q.block - 1) / q.block : shape[i];
    const std::int64_t k = at[static_cast<std::size_t>(i)];
    index = index * size + (i == q.axis ? k / q.block : k);
  }
  return static_cast<std::size_t>(index);
}

TEST(BlockQuant, IsTheFormulaOfEachElement) {
  std::mt19937 rng(seed());
  for (int round = 0; round < 200; round++) {
    const Drawn d = draw(rng);
    const Quantisation& q = d.type.quant;
    const Shape& shape = d.codes.shape;
    TensorView view = d.codes.view();
    view.quant = q.view();
    std::vector<float> floats(static_cast<std::size_t>(shape.elements()));
    const MutableView to{DType::f32, shape, floats.data(), {}};
    ASSERT_TRUE(dequantise_tensor(view, to).ok());
    std::vector<std::byte> again(d.codes.bytes());
    MutableView codes{d.codes.dtype, shape, again.data(), q.view()};
    ASSERT_TRUE(quantise_tensor(to, codes).ok());
    std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank));
    for (std::size_t i = 0; i < floats.size(); i++) {
      const std::size_t k = scale_of(q, shape, at);
      const std::int32_t code = load_code(view, static_cast<std::int64_t>(i));
      ASSERT_EQ(floats[i], static_cast<float>(code - q.zero_point[k]) * q.scale[k]);
      ASSERT_EQ(load_code(codes, static_cast<std::int64_t>(i)), code) << "there and back";
      for (std::size_t j = at.size(); j-- > 0;) {
        if (++at[j] < shape[static_cast<int>(j)]) break;
        at[j] = 0;
      }
    }
  }
}

TEST(BlockQuant, GoesThroughTextGraphAndProgram) {
  std::mt19937 rng(seed() + 1);
  for (int round = 0; round < 40; round++) {
    const Drawn d = draw(rng);
    Graph g;
    const ValueId w = g.add_constant("w", d.codes);
    g[w].type = d.type;
    TensorType plain = d.type;
    plain.quant = {};
    plain.dtype = DType::f32;
    const ValueId x = g.add_input("x", plain), xq = g.add_value("xq", d.type),
                  y = g.add_value("y", plain), z = g.add_value("z", plain);
    g.add_node({&op_named("longshore.Quantize"), {x}, {xq}, {}, {}, {}});
    g.add_node({&op_named("longshore.Dequantize"), {xq}, {y}, {}, {}, {}});
    g.add_node({&op_named("longshore.Dequantize"), {w}, {z}, {}, {}, {}});
    g.outputs = {y, z};
    verify(g);
    EXPECT_TRUE(parse(print(g)) == tidy(g)) << print(g);
    BundleContents c;
    c.graph = tidy(g);
    c.program = lower::lower_cpu(c.graph);
    const Result<Bundle> bundle = Bundle::open(make_blob(bundle_bytes(c)));
    ASSERT_TRUE(bundle.ok()) << bundle.status().text();
    EXPECT_TRUE(decode_graph(bundle->section(Section::graph), bundle->constants()) == c.graph);
    const Result<Program> program = bundle->program();
    ASSERT_TRUE(program.ok()) << program.status().text();
    ASSERT_EQ(program->values.size(), c.program.values.size());
    for (std::size_t i = 0; i < program->values.size(); i++)
      EXPECT_EQ(program->values[i].quantisation, c.program.values[i].quantisation);
    const std::vector<Tensor> in = random_inputs(g, seed() + static_cast<unsigned>(round));
    Runner runner(c.graph, {});
    EXPECT_EQ(runner.run(in), evaluate(g, in));
  }
}

TEST(BlockQuant, AWrongNumberOfScalesIsRefused) {
  const auto error = [](std::string_view text) -> std::string {
    try {
      verify(parse(text));
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(error("(x: i4[2,5] q([1,1,1,1,1,1], [0,0,0,0,0,0], axis=1, block=2)) { y = "
                  "longshore.Dequantize(x) return y }"),
            "");
  EXPECT_THAT(error("(x: i4[2,5] q([1,1,1,1], [0,0,0,0], axis=1, block=2)) { y = "
                    "longshore.Dequantize(x) return y }"),
              testing::HasSubstr("do not fit"));
  EXPECT_THAT(error("(x: i8[2,5] q([1,1,1], [0,0,0], axis=1)) { y = longshore.Dequantize(x) "
                    "return y }"),
              testing::HasSubstr("do not fit"));
  EXPECT_THAT(error("(x: i4[4] q([1], [0], axis=0, block=0)) { y = longshore.Dequantize(x) "
                    "return y }"),
              testing::HasSubstr("block"));
}

// Operators without a formula for blocks dequantise, compute and quantise. With as many blocks as
// channels, a count alone would look like scales by channel.
TEST(BlockQuant, ProductsOfBlockedWeights) {
  const Graph blocked = parse(
      "(x: i8[3,4] q(0.25, 3)) { w = i4[2,4] q([0.5, 2, 0.25, 1], [0, 0, 0, 0], axis=1, block=2) "
      "{1, -2, 3, 4, -5, 6, 7, -8} y: i8[3,2] q(0.5, -4) = com.microsoft.FusedGemm(x, w, _, "
      "transB=1, activation=\"Relu\") return y }");
  const Graph apart = parse(
      "(x: i8[3,4] q(0.25, 3)) { w = f32[2,4]{0.5, -1, 6, 8, -1.25, 1.5, 7, -8} xf = "
      "longshore.Dequantize(x) p = com.microsoft.FusedGemm(xf, w, _, transB=1, "
      "activation=\"Relu\") y: i8[3,2] q(0.5, -4) = longshore.Quantize(p) return y }");
  const std::vector<Tensor> in = random_inputs(blocked, seed());
  EXPECT_EQ(evaluate(blocked, in), evaluate(apart, in));
  Runner runner(blocked, {});
  EXPECT_EQ(runner.run(in), evaluate(apart, in));
  const Graph square = parse(
      "(x: i8[3,4] q(0.25, 3)) { w = i8[2,4] q([0.5, 2], [0, 0], axis=0, block=1) "
      "{1, -2, 3, 4, -5, 6, 7, -8} y: i8[3,2] q(0.5, -4) = Gemm(x, w, transB=1) return y }");
  EXPECT_THROW(verify(square), Error) << "a scale for each block and each column is missing";
}

}  // namespace
}  // namespace longshore::tests::block_quant_test
