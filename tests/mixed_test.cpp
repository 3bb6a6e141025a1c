// 16-bit activations for the nodes that need them, and for no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compile/compile.hpp"
#include "quantize/quantize.hpp"
#include "random.hpp"

namespace longshore::tests::mixed_test {
namespace {

using testing::HasSubstr;

std::vector<std::vector<Tensor>> samples(const Graph& g) {
  std::vector<std::vector<Tensor>> out;
  for (unsigned i = 0; i < 48; i++) out.push_back(random_inputs(g, 5 + 31 * i));
  return out;
}

/// Two branches: in one a channel lies a hundred times higher than the others, and the product
/// behind it hardly looks at it.
Graph net() {
  std::string far = "200", blind = "0,0,0,0,0,0,0,0";
  for (int i = 1; i < 8; i++) far += ",0.1";
  for (int i = 1; i < 8; i++)
    for (int o = 0; o < 8; o++) blind += (i + o) % 3 == 0 ? ",0.4" : ",-0.2";
  std::string plain;
  for (int i = 0; i < 64; i++) plain += (i ? "," : "") + std::to_string(0.1 * ((i * 7) % 11 - 5));
  return parse("(x: f32[4,8]) {\n  w = f32[8,8]{" + plain + "}\n  far = f32[8]{" + far +
               "}\n  v = f32[8,8]{" + blind + R"(}
  a: f32[4,8] = MatMul(x, w)
  s: f32[4,8] = Add(a, far)
  b: f32[4,8] = MatMul(s, v)
  c: f32[4,8] = MatMul(x, w)
  d: f32[4,8] = Relu(c)
  e: f32[4,8] = MatMul(d, w)
  y: f32[4,8] = Add(b, e) return y })");
}

/// Over the first 32 samples, which are those that are compared; all of them calibrate.
double sqnr(const Graph& want, const Graph& got) {
  double signal = 0, noise = 0;
  std::vector<std::vector<Tensor>> compared = samples(want);
  compared.resize(32);
  for (const std::vector<Tensor>& in : compared) {
    const std::vector<Tensor> a = evaluate(want, in), b = evaluate(got, in);
    for (std::size_t i = 0; i < a[0].values<float>().size(); i++) {
      const double x = static_cast<double>(a[0].values<float>()[i]),
                   y = static_cast<double>(b[0].values<float>()[i]);
      signal += x * x, noise += (x - y) * (x - y);
    }
  }
  return 10 * std::log10(signal / noise);
}

struct Result {
  Graph graph;
  QuantizeReport report;
};
Result quantised(double min_sqnr_db, std::vector<NodePrecision> precisions = {}) {
  Result r;
  QuantizeOptions options;
  options.min_sqnr_db = min_sqnr_db;
  options.equalise = false;
  options.precisions = std::move(precisions);
  r.graph = quantize(net(), calibration_from(samples(net())), options, &r.report);
  return r;
}
DType type_of(const Graph& g, std::string_view name) {
  for (const Value& v : g.values)
    if (v.name == name) return v.type.dtype;
  ADD_FAILURE() << "no value " << name;
  return DType::undefined;
}

TEST(Mixed, WidensWhatNeedsIt) {
  const Result plain = quantised(0);
  EXPECT_FALSE(plain.report.mixed.has_value());
  const double before = sqnr(net(), plain.graph), wanted = before + 10;
  const Result r = quantised(wanted);
  ASSERT_TRUE(r.report.mixed.has_value());
  const Mixed& m = *r.report.mixed;
  EXPECT_NEAR(m.before.db(), before, 1e-6);
  EXPECT_GE(m.after.db(), wanted);
  EXPECT_NEAR(m.after.db(), sqnr(net(), r.graph), 1e-6)
      << "the graph is not the one that was judged";
  EXPECT_GT(m.wide.size(), 0u);
  EXPECT_LT(m.wide.size(), m.nodes);
  EXPECT_EQ(type_of(r.graph, "s"), DType::i16);
  EXPECT_EQ(type_of(r.graph, "c"), DType::i8);
}

TEST(Mixed, NothingIsWidenedWhereThatIsEnough) {
  const Result plain = quantised(0), r = quantised(3);
  EXPECT_EQ(r.report.mixed->wide.size(), 0u);
  EXPECT_TRUE(r.graph == plain.graph);
}

TEST(Mixed, SaysWhereItCannotBeReached) {
  const Result r = quantised(150);
  EXPECT_EQ(r.report.mixed->wide.size(), r.report.mixed->nodes);
  EXPECT_LT(r.report.mixed->after.db(), 150);
  EXPECT_THAT(r.report.warnings, testing::Contains(HasSubstr("not 150")));
}

TEST(Mixed, KeepsThePrecisionsThatAreNamed) {
  const Result r = quantised(150, {{"s", Precision::w8a8}});
  EXPECT_EQ(type_of(r.graph, "s"), DType::i8);
  EXPECT_EQ(type_of(r.graph, "e"), DType::i16);
}

// Conversions cost: the program is no slower than with 16 bits everywhere.
TEST(Mixed, IsNoSlowerThanSixteenBitsEverywhere) {
  compile::Options options;
  options.model.emplace().graph = net();
  options.target = load_target("rk3588-like");
  options.quantise = compile::Quantise::always;
  options.first = compile::Stage::optimise;
  options.samples = [](const Graph& g) {
    compile::Samples s;
    s.count = 48;
    s.get = [all = samples(g)](std::size_t i) { return all[i]; };
    return s;
  };
  options.numbers.equalise = false;
  options.numbers.min_sqnr_db = sqnr(net(), quantised(0).graph) + 10;
  const compile::Compiled mixed = compile::compile(options);
  options.numbers.min_sqnr_db = 0;
  options.numbers.precision = Precision::w8a16;
  const compile::Compiled wide = compile::compile(options);
  ASSERT_TRUE(mixed.quantisation.mixed.has_value());
  EXPECT_GT(mixed.quantisation.mixed->wide.size(), 0u);
  EXPECT_LE(mixed.timing.total_ns, wide.timing.total_ns);
}

}  // namespace
}  // namespace longshore::tests::mixed_test
