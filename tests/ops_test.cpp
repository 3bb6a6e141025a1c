// Runs on every operator there is: a new operator is tested when its file exists.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "random.hpp"

namespace longshore::tests::ops_test {
namespace {

struct Case {
  const OpDef* op;
  std::string_view text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.text; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const OpDef* op : ops::all())
    for (std::string_view text : op->examples) out.push_back({op, text});
  return out;
}

class EveryExample : public testing::TestWithParam<Case> {};

TEST_P(EveryExample, PrintsAndParsesToItself) {
  const Graph g = parse(GetParam().text);
  verify(g);
  EXPECT_EQ(print(parse(print(g))), print(g));
  EXPECT_TRUE(parse(print(g)) == g) << print(g);
}

TEST_P(EveryExample, UsesTheOperator) {
  const Graph g = parse(GetParam().text);
  EXPECT_TRUE(std::any_of(g.nodes.begin(), g.nodes.end(),
                          [](const Node& n) { return n.op == GetParam().op; }));
}

// evaluate() itself compares the dims and types of every value with what was inferred.
TEST_P(EveryExample, ReferenceFillsTheInferredTypes) {
  const Graph g = parse(GetParam().text);
  const std::vector<Tensor> out = evaluate(g, random_inputs(g, seed()));
  ASSERT_EQ(out.size(), g.outputs.size());
  for (std::size_t i = 0; i < out.size(); i++) {
    EXPECT_EQ(out[i].dtype, g[g.outputs[i]].type.dtype);
    EXPECT_NE(g[g.outputs[i]].type.dtype, DType::undefined) << "inference found no type";
  }
}

// The same graph with its input dims given must infer the dims that come out.
TEST_P(EveryExample, SpecialisedInferenceAgreesWithTheReference) {
  const Graph g = parse(GetParam().text);
  const std::vector<Tensor> in = random_inputs(g, seed());
  InferOptions options;
  for (std::size_t i = 0; i < in.size(); i++)
    options.input_shapes[g[g.inputs[i]].name] = in[i].shape;
  const Graph special = infer(g, options);
  EXPECT_EQ(evaluate(special, in), evaluate(g, in));
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryExample, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = qualified_name(*info.param.op) + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

// quantize goes by roles: what shares the type of the result is data unless it says otherwise, and
// data of an operator that quantises does share it.
TEST(Ops, RolesOfInputsAreStated) {
  for (const OpDef* op : ops::all()) {
    if (const std::optional<std::size_t> w = op->schema.weights(); w && op->quant != Quant::none) {
      EXPECT_NE(op->weight_axis, nullptr) << op->name;
      EXPECT_TRUE(op->schema.input_with(InputRole::data)) << op->name;
    }
    if (op->quant == Quant::none || op->schema.inputs.empty()) continue;
    EXPECT_EQ(op->schema.role(0), InputRole::data) << op->name;
    const std::string_view result = op->schema.outputs[0].variable;
    for (std::size_t i = 1; i < op->schema.inputs.size(); i++) {
      const Parameter& p = op->schema.inputs[i];
      if (p.role == InputRole::data) {
        EXPECT_EQ(p.variable, result) << op->name << ": " << p.name;
      }
    }
    if (op->quant == Quant::same || op->quant == Quant::table) {
      for (std::size_t i = 1; i < op->schema.inputs.size(); i++)
        EXPECT_NE(op->schema.role(i), InputRole::data) << op->name << " has one input of data";
    }
  }
}

TEST(Ops, FusedOperatorsComeApartAndActivationsAreOneKind) {
  for (const OpDef* op : ops::all()) {
    const bool takes = op->schema.has_attribute("activation");
    EXPECT_EQ(takes, takes && op->fused && op->to_integer) << op->name;
    if (op->activation) {
      EXPECT_EQ(op->quant, Quant::table) << op->name;
    }
    if (!op->on_codes.empty()) {
      EXPECT_NE(op_named(op->on_codes).quant, Quant::none) << op->name;
    }
  }
}

TEST(Ops, HaveDocumentationAndExamples) {
  for (const OpDef* op : ops::all()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    if (!op->eval) {  // replaced on import
      EXPECT_NE(op->normalise, nullptr) << op->name;
      continue;
    }
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_FALSE(op->examples.empty()) << op->name;
    EXPECT_FALSE(op->schema.outputs.empty()) << op->name;
    if (op->quant == Quant::integer) {
      EXPECT_NE(op->eval_quantised, nullptr) << op->name;
    }
  }
}

TEST(Ops, SuggestANearName) {
  try {
    op_named("Reul");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "there is no operator 'Reul'; did you mean 'Relu'?");
  }
  try {
    op_named("Foo");  // as far from Cos as from anything
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "there is no operator 'Foo'");
  }
}

}  // namespace
}  // namespace longshore::tests::ops_test
