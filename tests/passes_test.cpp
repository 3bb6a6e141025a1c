// Runs on every pass there is: its cases are its documentation and its test.
#include <gtest/gtest.h>

#include <cmath>

#include "optimize/optimize.hpp"
#include "random.hpp"

namespace longshore::tests::passes_test {
namespace {

struct Case {
  const Pass* pass;
  std::string_view name;
  PassCase text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (std::size_t i = 0; i < passes::all().size(); i++)
    for (const PassCase& c : passes::all()[i]->cases)
      out.push_back({passes::all()[i], passes::names()[i], c});
  return out;
}

/// Names of inner values and origins are not part of what a case promises.
std::string shape_of(const Graph& g) {
  Graph plain = tidy(g);
  std::size_t next = 0;
  for (std::size_t i = 0; i < plain.values.size(); i++) {
    const bool outer = std::any_of(plain.outputs.begin(), plain.outputs.end(),
                                   [&](ValueId v) { return index(v) == i; }) ||
                       std::any_of(plain.inputs.begin(), plain.inputs.end(),
                                   [&](ValueId v) { return index(v) == i; });
    if (!outer) plain.values[i].name = "inner" + std::to_string(next++);
  }
  for (Node& n : plain.nodes) {
    n.origin = {};
    for (Subgraph& s : n.subgraphs) {
      s.body.name.clear();
      for (std::size_t i = 0; i < s.body.values.size(); i++)
        s.body.values[i].name = "body" + std::to_string(i);
      for (Node& inner : s.body.nodes) inner.origin = {};
    }
  }
  return print(plain);
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); k++) {
    ASSERT_EQ(got[k].dtype, want[k].dtype);
    ASSERT_EQ(got[k].shape, want[k].shape);
    if (got[k].dtype != DType::f32) {
      EXPECT_TRUE(got[k] == want[k]);
      continue;
    }
    const auto a = got[k].values<float>(), b = want[k].values<float>();
    for (std::size_t i = 0; i < a.size(); i++)
      EXPECT_EQ(difference(a[i], b[i], 1e-4 + 1e-4 * static_cast<double>(std::abs(b[i]))), "")
          << "element " << i;
  }
}

class EveryPass : public testing::TestWithParam<Case> {};

TEST_P(EveryPass, DoesWhatItsCaseSays) {
  const auto& [pass, name, text] = GetParam();
  const Graph before = parse(text.before);
  EXPECT_EQ(shape_of(apply(*pass, before)),
            shape_of(parse(text.after.empty() ? text.before : text.after)))
      << pass->doc;
}

TEST_P(EveryPass, IsIdempotentAndValid) {
  const Graph once = apply(*GetParam().pass, parse(GetParam().text.before));
  verify(once);
  EXPECT_EQ(print(apply(*GetParam().pass, once)), print(once));
}

TEST_P(EveryPass, KeepsTheMeaningAloneAndWithAllOthers) {
  const Graph before = parse(GetParam().text.before);
  const auto in = random_inputs(before, seed());
  const auto want = evaluate(before, in);
  expect_near(evaluate(apply(*GetParam().pass, before), in), want);
  for (unsigned order = 1; order <= 3; order++)
    expect_near(evaluate(optimize(before, {.order_seed = order}), in), want);
}

TEST_P(EveryPass, KeepsTheMeaningOfNanAndInfinity) {
  const Graph before = parse(GetParam().text.before);
  std::mt19937 rng(seed());
  for (unsigned round = 0; round < 8; round++) {
    std::vector<Tensor> in = random_inputs(before, seed() + round);
    for (Tensor& t : in) t = with_extremes(rng, t);
    expect_near(evaluate(optimize(before), in), evaluate(before, in));
  }
}

TEST_P(EveryPass, KeepsTheNamesOfInputsAndOutputs) {
  const Graph before = parse(GetParam().text.before), after = optimize(before);
  const auto names = [](const Graph& g, const std::vector<ValueId>& ids) {
    std::vector<std::string> out;
    for (ValueId v : ids) out.push_back(g[v].name);
    return out;
  };
  EXPECT_EQ(names(before, before.inputs), names(after, after.inputs));
  EXPECT_EQ(names(before, before.outputs), names(after, after.outputs));
}

INSTANTIATE_TEST_SUITE_P(Optimize, EveryPass, testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.name) + "_" + std::to_string(info.index);
});

/// Takes a sum for its first input, whatever that input's type is.
bool drop_sum(Match& m) {
  if (!m.is("Add")) return false;
  m.replace(m.node().outputs[0], m.node().inputs[0]);
  return true;
}

TEST(Passes, ARewriteThatChangesATypeIsDropped) {
  const Pass pass{.doc = "wrong", .rewrite = drop_sum};
  for (const char* text : {
           "(x: f32[3]) { a = Relu(x) b = Add(a, f32[1,1]{0}) y = Relu(b) return y }",
           "(x: f32[1]) { a = Relu(x) b = Add(a, f32[3]{0}) y = Relu(b) return y }",
           "(x: f32[1,N]) { a = Relu(x) b = Add(a, f32[2,1]{0}) y = Relu(b) return y }",
           "(x: f32[1,N], z: f32[M,N]) { a = Relu(x) b = Add(a, z) y = Relu(b) return y }",
           "(x: i8[3] q(0.5, 0)) { a: i8[3] q(0.5, 0) = Relu(x) b: i8[3] q(0.25, 0) = Add(a, x) y "
           "= longshore.Dequantize(b) return y }",
       }) {
    const Graph g = parse(text);
    EXPECT_EQ(print(apply(pass, g)), print(g)) << text;
  }
  EXPECT_EQ(apply(pass, parse("(x: f32[3]) { a = Relu(x) b = Add(a, f32[1]{0}) y = Neg(b) return "
                              "y }"))
                .nodes.size(),
            2u);
}

TEST(Passes, HaveDocumentationAndCases) {
  for (std::size_t i = 0; i < passes::all().size(); i++) {
    const Pass& pass = *passes::all()[i];
    EXPECT_FALSE(pass.doc.empty()) << passes::names()[i];
    EXPECT_FALSE(pass.cases.empty()) << passes::names()[i];
    EXPECT_NE(pass.rewrite != nullptr, pass.run != nullptr) << passes::names()[i];
  }
}

}  // namespace
}  // namespace longshore::tests::passes_test
