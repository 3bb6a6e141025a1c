// The runtime against the reference: every operator's examples, memory, dynamic dims, bad programs.
#include <gtest/gtest.h>

#include "allocations.hpp"
#include "base/error.hpp"
#include "base/limits.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "random.hpp"
#include "tensor/small_float.hpp"

namespace longshore::tests::run_test {
namespace {

struct Case {
  const OpDef* op;
  std::string_view text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.text; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const OpDef* op : ops::all())
    if (op->deterministic)
      for (std::string_view text : op->examples) out.push_back({op, text});
  return out;
}

std::vector<Tensor> run_with(const Graph& g, std::span<const Tensor> in, bool fast,
                             int threads = 1) {
  RunnerOptions options;
  options.fast_kernels = fast;
  options.threads = threads;
  Runner runner(g, std::move(options));
  runner.run(in);  // the second run finds the arena as the first one left it
  return runner.run(in);
}

/// Fails where `got` is not within the operator's bound of `want`; NaN equals NaN.
void expect_near(const Tensor& got, const Tensor& want, float rtol, float atol) {
  ASSERT_EQ(got.dtype, want.dtype);
  ASSERT_TRUE(got.shape == want.shape);
  if (got.dtype != DType::f32) {
    EXPECT_EQ(got, want);
    return;
  }
  const auto g = got.values<float>(), w = want.values<float>();
  for (std::size_t i = 0; i < g.size(); i++) {
    if (std::isnan(w[i]) || std::isinf(w[i])) {
      EXPECT_TRUE(std::isnan(w[i]) ? std::isnan(g[i]) : g[i] == w[i])
          << i << ": " << g[i] << " for " << w[i];
    } else {
      ASSERT_LE(std::fabs(g[i] - w[i]), atol + rtol * std::fabs(w[i]))
          << i << ": " << g[i] << " for " << w[i];
    }
  }
}

class RunExample : public testing::TestWithParam<Case> {};

TEST_P(RunExample, GenericKernelsGiveTheReferenceBitForBit) {
  const Graph g = parse(GetParam().text);
  const std::vector<Tensor> in = random_inputs(g, seed());
  EXPECT_EQ(run_with(g, in, false), evaluate(g, in));
}

TEST_P(RunExample, FastKernelsStayWithinTheBound) {
  const Graph g = parse(GetParam().text);
  const std::vector<Tensor> in = random_inputs(g, seed()), want = evaluate(g, in);
  const std::vector<Tensor> got = run_with(g, in, true, 2);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); i++)
    expect_near(got[i], want[i], GetParam().op->float_rtol * 2, GetParam().op->float_atol * 2);
}

TEST_P(RunExample, ALaterRunAllocatesNothing) {
  const Graph g = parse(GetParam().text);
  const std::vector<Tensor> in = random_inputs(g, seed());
  for (bool fast : {false, true})
    EXPECT_LE(allocations_of_a_run(g, in, fast, {}, 2), 0) << (fast ? "fast kernels" : "eval");
}

INSTANTIATE_TEST_SUITE_P(Run, RunExample, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = qualified_name(*info.param.op) + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

Result<Model> load(Program program) {
  LoadOptions options;
  options.operators = operator_table();
  return Model::load(std::move(program), options);
}

TEST(Run, AllocatesNothingAfterTheFirstRun) {
  for (bool fast : {false, true}) {
    const Graph g =
        parse("(x: f32[4,9]) { a = Relu(x) b = Add(a, x) c = Relu(b) d = Add(c, a) return d, c }");
    LoadOptions options;
    options.operators = operator_table();
    options.fast_kernels = fast;
    Result<Model> model = Model::load(lower::lower_cpu(g), options);
    ASSERT_TRUE(model.ok()) << model.status().text();
    Result<Context> context = Context::create(*model, 2);
    ASSERT_TRUE(context.ok());
    const std::vector<Tensor> in = random_inputs(g, seed());
    const std::vector<TensorView> views = {in[0].view()};
    ASSERT_TRUE(context->run(views).ok());
    const long before = allocations();
    for (int i = 0; i < 10; i++) ASSERT_TRUE(context->run(views).ok());
    EXPECT_EQ(allocations(), before);
  }
}

TEST(Run, AllocatesNothingForKnownDimsOfADynamicGraph) {
  const Graph g = parse("(x: f32[N,3]) { a = Relu(x) b = Add(a, x) return b }");
  LoadOptions options;
  options.operators = operator_table();
  options.specialise = specialiser(g);
  Result<Model> model = Model::load(lower::lower_cpu(g), options);
  ASSERT_TRUE(model.ok()) << model.status().text();
  Result<Context> context = Context::create(*model, 1);
  ASSERT_TRUE(context.ok());
  std::mt19937 rng(seed());
  const Tensor two = random_tensor(rng, DType::f32, {2, 3}),
               five = random_tensor(rng, DType::f32, {5, 3});
  for (const Tensor& t : {two, five}) {
    const TensorView view = t.view();
    ASSERT_TRUE(context->run(std::span(&view, 1)).ok());
    EXPECT_EQ(copy_tensor(context->output(0)), evaluate(g, std::span(&t, 1))[0]);
  }
  const long before = allocations();
  for (const Tensor* t : {&two, &five, &two}) {
    const TensorView view = t->view();
    ASSERT_TRUE(context->run(std::span(&view, 1)).ok());
  }
  EXPECT_EQ(allocations(), before);
}

TEST(Run, ReusesAndOverwritesMemory) {
  // Each step overwrites its input: one buffer is enough for any length.
  const Graph g =
      parse("(x: f32[1000]) { a = Relu(x) b = Relu(a) c = Relu(b) d = Relu(c) return d }");
  EXPECT_EQ(lower::lower_cpu(g).arena_bytes, 4032u);
  EXPECT_EQ(lower::lower_cpu(g).arena_lower_bound, 4032u);
}

TEST(Run, RefusesWrongInputs) {
  const Graph g = parse("(x: f32[2,3]) { a = Relu(x) return a }");
  Result<Model> model = load(lower::lower_cpu(g));
  ASSERT_TRUE(model.ok());
  Result<Context> context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  const float data[8] = {};
  const auto text = [&](const TensorView& view) {
    return std::string(context->run(std::span(&view, 1)).text());
  };
  EXPECT_EQ(text({DType::f32, {2, 4}, data, {}}), "input 'x': dimension 1 is 3, found 4");
  EXPECT_EQ(text({DType::f32, {6}, data, {}}), "input 'x' has rank 2, found 1");
  EXPECT_EQ(text({DType::i32, {2, 3}, data, {}}), "input 'x' is f32, found i32");
  EXPECT_EQ(text({}), "input 'x' is missing");
  EXPECT_EQ(std::string(context->run({}).text()), "0 inputs are given, the program takes 1");
}

TEST(Run, RefusesBrokenPrograms) {
  const Program good =
      lower::lower_cpu(parse("(x: f32[2,3]) { a = Relu(x) b = Add(a, x) return b }"));
  ASSERT_TRUE(load(good).ok());
  const auto refused = [&](auto&& breakit) {
    Program p = good;
    breakit(p);
    return !load(std::move(p)).ok();
  };
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].inputs[0] = 77; }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].outputs[0] = 77; }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].inputs.clear(); }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].name = "Rule"; }));
  EXPECT_TRUE(refused([](Program& p) { std::swap(p.steps[0], p.steps[1]); }));
  EXPECT_TRUE(refused([](Program& p) { p.steps.pop_back(); }));
  EXPECT_TRUE(refused([](Program& p) { p.outputs[0] = no_index; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].offset = 1; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].offset = ~std::uint64_t{63}; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].shape = {1 << 30, 1 << 30}; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].shape.rank = 9; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].shape = {-2, 3}; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].dtype = static_cast<DType>(99); }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].storage = Storage::constant; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].storage = static_cast<Storage>(99); }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].quantisation.scale = {1.0f}; }));
  EXPECT_TRUE(refused([](Program& p) { p.arena_bytes = std::uint64_t{1} << 60; }));
  EXPECT_TRUE(refused([](Program& p) { p.arena_bytes = 0; }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].kind = Step::Kind::wait; }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].kind = Step::Kind::view; }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].layer = 9; }));
  EXPECT_TRUE(refused([](Program& p) { p.captured.push_back(0); }));
}

TEST(Run, ObserverSeesEveryValue) {
  const Graph g = parse("(x: f32[5]) { a = Relu(x) b = Add(a, x) return b }");
  const std::vector<Tensor> in = random_inputs(g, seed());
  std::vector<std::pair<ValueId, Tensor>> want, got;
  EvaluateOptions reference;
  reference.observe = [&](ValueId v, const TensorView& t) { want.emplace_back(v, copy_tensor(t)); };
  evaluate(g, in, reference);
  RunnerOptions options;
  options.observe = [&](ValueId v, const TensorView& t) { got.emplace_back(v, copy_tensor(t)); };
  Runner(g, options).run(in);
  EXPECT_EQ(got, want);
}

/// If in If: `depth` graphs around one Add.
std::string nested(int depth) {
  std::string inner = "{ r0 = Add(x, x) return r0 }";
  for (int i = 1; i <= depth; i++) {
    const std::string r = "r" + std::to_string(i);
    inner = "{ " + r + " = If(c) then_branch=() " + inner + " else_branch=() { e" +
            std::to_string(i) + " = Neg(x) return e" + std::to_string(i) + " } return " + r + " }";
  }
  return "(c: bool[], x: f32[2]) " + inner;
}

// What the reference runs, the CPU runs.
TEST(Run, NestsAsDeepAsGraphsMayNest) {
  const Graph g = parse(nested(deepest_nesting));
  for (bool yes : {true, false}) {
    const Bool8 condition(yes);
    const std::vector<Tensor> in = {
        make_tensor<Bool8>(DType::boolean, {}, std::span(&condition, 1)), random_inputs(g, 1)[1]};
    EXPECT_EQ(run_with(g, in, true), evaluate(g, in));
  }
  try {
    parse(nested(deepest_nesting + 1));
    FAIL() << "deeper graphs are read";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(deepest_nesting)), std::string::npos)
        << e.what();
  }
}

TEST(Run, ErrorsNameTheStep) {
  const Graph g = parse("(x: f32[N], y: f32[M]) { a = Add(x, y) return a }");
  std::mt19937 rng(seed());
  const std::vector<Tensor> in = {random_tensor(rng, DType::f32, {2}),
                                  random_tensor(rng, DType::f32, {3})};
  Result<Model> model = load(lower::lower_cpu(g));
  ASSERT_TRUE(model.ok());
  Result<Context> context = Context::create(*model);
  const std::vector<TensorView> views = {in[0].view(), in[1].view()};
  EXPECT_EQ(std::string(context->run(views).text()),
            "'a' (Add): the inputs cannot be broadcast to one another");
}

}  // namespace
}  // namespace longshore::tests::run_test
