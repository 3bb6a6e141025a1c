// What one run leaves for the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "program/bundle.hpp"
#include "write/bundle.hpp"

namespace longshore::tests::states_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* running_sum =
    "(x: f32[2], s: f32[2]) states (s = t) { t = Add(x, s) y = Mul(t, f32[]{2}) return y, t }";

Result<Model> load(const Graph& g, bool open = false) {
  LoadOptions options;
  options.operators = operator_table();
  if (open) options.specialise = specialiser(g);
  return Model::load(lower::lower_cpu(g), options);
}

Context context_of(const Result<Model>& model) {
  require(model.status());
  Result<Context> context = Context::create(*model);
  require(context.status());
  return std::move(*context);
}

std::vector<float> run(Context& context, std::vector<float> x, std::size_t output = 0) {
  const TensorView views[] = {
      {DType::f32, Shape{static_cast<std::int64_t>(x.size())}, x.data(), {}}, {}};
  require(context.run(views));
  const TensorView y = context.output(output);
  return {y.as<float>(), y.as<float>() + y.elements()};
}

TEST(States, ARunningSum) {
  Context context = context_of(load(parse(running_sum)));
  EXPECT_THAT(run(context, {1, 2}), ElementsAre(2, 4));
  EXPECT_THAT(run(context, {10, 20}), ElementsAre(22, 44));
  EXPECT_THAT(run(context, {0, 0}, 1), ElementsAre(11, 22));
  context.reset();
  EXPECT_THAT(run(context, {5, 6}, 1), ElementsAre(5, 6));
}

TEST(States, TheCallerMayGiveOne) {
  Context context = context_of(load(parse(running_sum)));
  run(context, {1, 1});
  const float x[] = {1, 1}, s[] = {100, 200};
  const TensorView views[] = {{DType::f32, Shape{2}, x, {}}, {DType::f32, Shape{2}, s, {}}};
  ASSERT_TRUE(context.run(views).ok());
  EXPECT_EQ(context.output(1).as<float>()[1], 201);
  EXPECT_THAT(run(context, {0, 0}, 1), ElementsAre(101, 201));
  const TensorView none[2] = {};
  EXPECT_STREQ(context.run(none).text(), "input 'x' is missing");
  EXPECT_THAT(run(context, {0, 0}, 1), ElementsAre(101, 201)) << "a run that failed changed it";
}

TEST(States, EachContextHasItsOwn) {
  const Result<Model> model = load(parse(running_sum));
  Context a = context_of(model), b = context_of(model);
  run(a, {1, 2});
  EXPECT_THAT(run(b, {0, 0}, 1), ElementsAre(0, 0));
  EXPECT_THAT(run(a, {0, 0}, 1), ElementsAre(1, 2));
}

TEST(States, TwoMayChangePlaces) {
  Context context = context_of(load(
      parse("(x: f32[1], a: f32[1], b: f32[1]) states (a = c, b = d) { c = Identity(b) d = Add(a, "
            "x) y = Identity(a) return y, c, d }")));
  std::vector<float> seen;
  for (float x : {1.0f, 10.0f, 100.0f, 0.0f, 0.0f}) {
    const TensorView views[] = {{DType::f32, Shape{1}, &x, {}}, {}, {}};
    ASSERT_TRUE(context.run(views).ok());
    seen.push_back(*context.output(0).as<float>());
  }
  // (a, b): (0,0) (0,1) (1,10) (10,101) (101,10)
  EXPECT_THAT(seen, ElementsAre(0, 0, 1, 10, 101));
}

TEST(States, SurviveOtherDims) {
  const Graph g = parse(
      "(x: f32[N,2], s: f32[2]) states (s = t) { r = ReduceSum(x, i64[1]{0}, keepdims=0) t = "
      "Add(r, s) return t }");
  Context context = context_of(load(g, true));
  const std::vector<float> x(6, 1);
  std::vector<float> seen;
  for (std::int64_t rows : {1, 3, 2}) {
    const TensorView views[] = {{DType::f32, Shape{rows, 2}, x.data(), {}}, {}};
    ASSERT_TRUE(context.run(views).ok());
    seen.push_back(context.output(0).as<float>()[1]);
  }
  EXPECT_THAT(seen, ElementsAre(1, 4, 6));
}

TEST(States, AQuantisedOneBeginsAtItsZeroPoint) {
  const Graph g = parse(
      "(x: i8[2] q(0.5, 3), s: i8[2] q(0.5, 3)) states (s = t) { t: i8[2] q(0.5, 3) = Add(x, s) "
      "return t }");
  Context context = context_of(load(g));
  const std::int8_t x[] = {5, 3};  // 1.0, 0.0
  const TensorView views[] = {{DType::i8, Shape{2}, x, {}}, {}};
  for (int i = 1; i <= 3; i++) {
    ASSERT_TRUE(context.run(views).ok());
    EXPECT_EQ(context.output(0).as<std::int8_t>()[0], 3 + 2 * i);
    EXPECT_EQ(context.output(0).as<std::int8_t>()[1], 3);
  }
}

TEST(States, ArePrintedAndParsed) {
  const Graph g = parse(running_sum);
  ASSERT_EQ(g.states.size(), 1u);
  EXPECT_EQ(g.states[0], (StateSlot{1, 1, 0}));
  EXPECT_TRUE(parse(print(g)) == g) << print(g);
  Graph roomy = g;
  roomy.states[0].capacity = 4096;
  EXPECT_THAT(print(roomy), HasSubstr("states (s = t 4096)"));
  EXPECT_TRUE(parse(print(roomy)) == roomy);
  EXPECT_THROW(parse("(x: f32[2]) states (z = y) { y = Relu(x) return y }"), Error);
  EXPECT_THROW(parse("(x: f32[2]) states (x = z) { y = Relu(x) return y }"), Error);
}

TEST(States, AreInTheBundle) {
  const Graph g = parse(running_sum);
  const Result<Bundle> bundle =
      Bundle::open(make_blob(bundle_bytes({g, lower::lower_cpu(g), "", ""})));
  ASSERT_TRUE(bundle.ok()) << bundle.status().text();
  const Result<Program> program = bundle->program();
  ASSERT_TRUE(program.ok()) << program.status().text();
  LoadOptions options;
  options.operators = operator_table();
  Context context = context_of(Model::load(*program, options));
  run(context, {1, 2});
  EXPECT_THAT(run(context, {1, 2}, 1), ElementsAre(2, 4));
}

TEST(States, AnInputThatIsGivenIsNone) {
  InferOptions options;
  const float s[] = {3, 4};
  options.input_values["s"] = make_floats(Shape{2}, s);
  EXPECT_TRUE(infer(parse(running_sum), options).states.empty());
  options.input_values.clear();
  options.input_values["x"] = make_floats(Shape{2}, s);
  EXPECT_THAT(infer(parse(running_sum), options).states, ElementsAre(StateSlot{0, 1, 0}));
}

TEST(States, ThatCannotBeAreRefused) {
  const Program good = lower::lower_cpu(parse(running_sum));
  const auto refused = [&](auto&& change) {
    Program p = good;
    change(p);
    LoadOptions options;
    options.operators = operator_table();
    return !Model::load(std::move(p), options).ok();
  };
  EXPECT_FALSE(refused([](Program&) {}));
  EXPECT_TRUE(refused([](Program& p) { p.states[0].input = 2; }));
  EXPECT_TRUE(refused([](Program& p) { p.states[0].output = 2; }));
  EXPECT_TRUE(refused([](Program& p) { p.states.push_back(p.states[0]); }));
  EXPECT_TRUE(refused([](Program& p) { p.states[0].capacity = 7; }));
  Program greedy = good;
  greedy.states[0].capacity = std::uint64_t{1} << 60;
  LoadOptions options;
  options.operators = operator_table();
  const Result<Model> model = Model::load(greedy, options);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(Context::create(*model).status().code(), Code::exhausted);
  EXPECT_TRUE(refused([](Program& p) { p.values[p.inputs[1]].fixed_shape = false; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[p.inputs[1]].shape = Shape{3}; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[p.inputs[1]].dtype = DType::i32; }));
}

}  // namespace
}  // namespace longshore::tests::states_test
