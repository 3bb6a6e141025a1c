// One way from a model to a program: its stages, what it says, and that it can be stopped.
#include "base/sanitizer.hpp"
#include "compile/choices.hpp"
#include "compile/compile.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "compile/bundle_file.hpp"
#include "compile/near_names.hpp"
#include "compile/why_float.hpp"
#include "sim/verify.hpp"

namespace longshore::compile::compile_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A convolution with constant weights, a Relu, and an operator without int8 form behind it.
Graph net() {
  return parse(
      "net (x: f32[1,3,8,8]) { w = f32[4,3,3,3]{0.1} c = Conv(x, w, pads=[1,1,1,1]) r = Relu(c) "
      "n = IsNaN(r) k = Cast(n, to=1) a = Add(k, k) return r, a }");
}

Options options_for(Graph g, const char* target = "shore-1") {
  Options o;
  o.model.emplace().graph = std::move(g);
  if (target) o.target = load_target(target);
  return o;
}

std::string failure(const Options& o) {
  try {
    compile(o);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

Samples constant_samples(std::size_t count, float value) {
  Samples s;
  s.count = count;
  s.get = [value](std::size_t) {
    return std::vector<Tensor>{
        make_floats(Shape{1, 3, 8, 8}, std::vector<float>(3 * 8 * 8, value))};
  };
  s.name = [](std::size_t i, std::size_t) { return str("picture_", i, ".npy"); };
  return s;
}

TEST(Compile, MakesASoundProgramAndShowsEachStage) {
  Options o = options_for(net());
  std::vector<std::string> seen;
  o.snapshot = [&](std::string_view name, const std::string& text) {
    seen.emplace_back(name);
    EXPECT_FALSE(text.empty()) << name;
  };
  const Compiled c = compile(o);
  EXPECT_THAT(seen, ElementsAre("read", "optimised", "quantised", "plan", "program"));
  EXPECT_TRUE(c.npu());
  EXPECT_THAT(verify(c.program), IsEmpty());
  EXPECT_GT(c.timing.total_ns, 0);
  EXPECT_TRUE(c.quantised_here);
  EXPECT_TRUE(c.random_calibration);
  EXPECT_THAT(c.warnings, Contains(HasSubstr("RANDOM")));
  EXPECT_FALSE(c.bundle().target.empty());
  EXPECT_FALSE(quantised(c.optimised));
  EXPECT_TRUE(quantised(c.graph));
}

TEST(Compile, StopsAfterTheLastStageWanted) {
  Options o = options_for(net(), nullptr);
  o.last = Stage::optimise;
  const Compiled c = compile(o);
  EXPECT_FALSE(quantised(c.graph));
  EXPECT_TRUE(c.program.steps.empty());
}

TEST(Compile, TellsEveryStageInOrder) {
  Options o = options_for(net());
  o.threads = 2;
  std::vector<Stage> begun;
  Stage last = Stage::read;
  o.progress = [&](const Progress& p) {
    EXPECT_GE(p.stage, last);
    last = p.stage;
    if (p.of > 0) {
      EXPECT_LE(p.done, p.of);
    }
    if (p.done == 0) begun.push_back(p.stage);
    return true;
  };
  compile(o);
  EXPECT_THAT(begun, ElementsAre(Stage::read, Stage::import, Stage::optimise, Stage::quantise,
                                 Stage::place, Stage::plan, Stage::lower));
}

TEST(Compile, CanBeCancelledAtEveryCall) {
  std::size_t calls = 0;
  {
    Options o = options_for(net());
    o.progress = [&](const Progress&) { return ++calls, true; };
    compile(o);
  }
  ASSERT_GT(calls, 14u);  // two for each stage, and the samples between
  // Sanitizers make it fifty times slower: they see each third call.
  for (std::size_t stop = 0; stop < calls; stop += address_sanitizer ? 3 : 1) {
    Options o = options_for(net());
    o.threads = 1 + static_cast<int>(stop % 2);
    std::size_t at = 0;
    bool stopped = false;
    o.progress = [&](const Progress&) {
      EXPECT_FALSE(stopped) << "called again after it said no";
      stopped = at++ == stop;
      return !stopped;
    };
    EXPECT_THROW(compile(o), Cancelled) << "call " << stop << " of " << calls;
  }
}

TEST(Compile, NamesOpenDimsInsteadOfPricingThem) {
  const Graph g = parse("(x: f32[N,3,H,W]) { y = Relu(x) return y }");
  for (const char* target : {"cpu", "shore-1"})
    EXPECT_THAT(
        failure(options_for(g, target)),
        AllOf(HasSubstr("'x'"), HasSubstr("--dim H=N --dim W=N"), Not(HasSubstr("--dim N"))));
  EXPECT_THAT(failure(options_for(parse("(x: f32[1,?]) { y = Relu(x) return y }"))),
              HasSubstr("--shape x=1,N"));
}

TEST(Compile, AnOpenBatchBecomesOneForEveryTarget) {
  for (const char* target : {"cpu", "shore-1"}) {
    const Compiled c =
        compile(options_for(parse("(x: f32[batch,3,8,8]) { y = Relu(x) return y }"), target));
    EXPECT_EQ(c.graph[c.graph.outputs[0]].type.shape(), (Shape{1, 3, 8, 8}));
    EXPECT_THAT(c.warnings, Contains(HasSubstr("--dim batch=N")));
  }
}

TEST(Compile, WithoutATargetDimsStayOpenAndARunClosesThem) {
  Options o = options_for(parse("(x: f32[N,2]) { y = Relu(x) return y }"), nullptr);
  const Compiled c = compile(o);
  LoadOptions loading;
  loading.specialise = specialise(c);
  const Model model = load(c.program, "it", loading);
  Result<Context> context = Context::create(model, 1);
  ASSERT_TRUE(context.ok());
  for (const std::int64_t n : {1, 3}) {
    const Tensor x =
        make_floats(Shape{n, 2}, std::vector<float>(static_cast<std::size_t>(n) * 2, -1.0f));
    const TensorView view = x.view();
    ASSERT_TRUE(context->run(std::span(&view, 1)).ok());
    EXPECT_EQ(context->output(0).shape, (Shape{n, 2}));
  }
}

TEST(Compile, NamesThatKeepNothingFloatAreRefusedOrSaid) {
  Options o = options_for(net());
  o.numbers.exclude = {"Sofmax", "c"};
  EXPECT_THAT(failure(o), HasSubstr("--keep-float Sofmax"));
  o.numbers.exclude = {"IsNan"};
  EXPECT_THAT(failure(o), HasSubstr("near: 'IsNaN'"));
  o.numbers.exclude = {"Softmax"};
  EXPECT_THAT(compile(o).warnings, Contains(HasSubstr("no such operator")));
}

TEST(Compile, ANodeThatTheOptimiserTookIsNamedAsSuch) {
  Options o =
      options_for(parse("(x: f32[1,3,8,8]) { w = f32[4,3,3,3]{0.1} c = Conv(x, w, pads=[1,1,1,1]) "
                        "i = Identity(c) @\"gone\" "
                        "y = Relu(i) return y }"));
  o.numbers.exclude = {"gone"};
  EXPECT_THAT(failure(o), HasSubstr("the optimiser took"));
}

TEST(Compile, SamplesThatNoRangeHoldsAreNamed) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30f}) {
    Options o = options_for(net());
    o.samples = [&](const Graph&) { return constant_samples(4, bad); };
    EXPECT_THAT(failure(o),
                AllOf(HasSubstr("picture_0.npy"), HasSubstr("element 0"), HasSubstr("input 'x'")))
        << bad;
  }
  Options o = options_for(net());
  o.samples = [&](const Graph&) { return constant_samples(4, 9e29f); };
  o.lint = false;  // which has an opinion of constants
  EXPECT_NO_THROW(compile(o));
}

TEST(Compile, QuantisesInAModeThatTheTargetHas) {
  Options o = options_for(net());
  o.target->machine.roundings = 1u << static_cast<int>(Rounding::fixed31_double);
  EXPECT_EQ(compile(o).graph.numbers, Rounding::fixed31_double);
  o.rounding = Rounding::f32_even;  // asked for, so not replaced
  EXPECT_THAT(failure(o), HasSubstr("rounds in the mode f32_even"));
}

/// A first layer whose bytes are gathered one by one, a table that is fused and a tail that is
/// worth going to the NPU for.
Options head_and_tail(int channels) {
  Options o = options_for(
      parse(fmt::format("(x: i8[1,3,48,192] q(0.01, 0)) {{"
                        " a: i8[1,{0},24,96] q(0.1, 0) = Conv(x, i8[{0},3,3,3] q(0.01, 0) {{5}}, "
                        "pads=[1,1,1,1], strides=[2,2])"
                        " h: i8[1,{0},24,96] q(0.1, 0) = HardSwish(a)"
                        " b: i8[1,{0},12,96] q(0.1, 0) = Conv(h, i8[{0},1,3,3] q(0.01, 0) {{5}}, "
                        "group={0}, strides=[2,1], pads=[1,1,1,1])"
                        " d: i8[1,64,12,96] q(0.1, 0) = Conv(b, i8[64,{0},1,1] q(0.1, 0) {{5}})"
                        " e: i8[1,64,12,96] q(0.1, 0) = Conv(d, i8[64,64,3,3] q(0.1, 0) {{5}}, "
                        "pads=[1,1,1,1])"
                        " f: i8[1,8,12,96] q(0.1, 0) = Conv(e, i8[8,64,3,3] q(0.1, 0) {{5}}, "
                        "pads=[1,1,1,1]) return f }}",
                        channels)),
      "rk3588-like");
  o.first = Stage::place;
  return o;
}

TEST(Compile, TheSimulatorHasTheLastWordOnPrices) {
  const auto whole_ns = [](Options o) {
    o.place.by_price = false;
    return compile(o).timing.total_ns;
  };
  const auto npu_nodes = [](const std::vector<NodePlacement>& nodes) {
    return std::ranges::count_if(nodes, &NodePlacement::on_npu);
  };
  // By the prices alone the first three nodes of either belong to the CPU.
  for (const auto& [channels, wanted] : {std::pair(4, 3), std::pair(15, 6)}) {
    const Options o = head_and_tail(channels);
    EXPECT_EQ(npu_nodes(place(o.model->graph, *o.target).nodes), 3);
    const Compiled c = compile(o);
    EXPECT_EQ(npu_nodes(c.plan.placement.nodes), wanted) << channels;
    EXPECT_LE(c.timing.total_ns, whole_ns(o));
  }
  Options forced = head_and_tail(15);
  forced.forced.emplace_back("a", false);
  EXPECT_FALSE(compile(forced).plan.placement.nodes[0].on_npu());
}

TEST(Compile, RandomSamplesStayFew) {
  EXPECT_EQ(random_samples(parse("(x: f32[1,3,8,8]) { y = Relu(x) return y }")).count, 16u);
  EXPECT_EQ(random_samples(parse("(x: f32[100000000]) { y = Relu(x) return y }")).count, 1u);
  const Samples s = random_samples(parse("(x: f32[2], k: i64[1]) { y = Relu(x) return y }"));
  EXPECT_EQ(s.get(0).size(), 2u);
  EXPECT_FALSE(s.get(0)[0] == s.get(1)[0]);
}

TEST(Compile, SaysWhyANodeIsFloat) {
  const Compiled c = compile(options_for(net()));
  std::map<std::string_view, std::string> why;
  for (std::size_t i = 0; i < c.graph.nodes.size(); i++)
    why[c.graph.nodes[i].op->name] = why_float(c, i).text;
  EXPECT_EQ(why["IsNaN"], "has no int8 form");
  EXPECT_THAT(why["Add"], AllOf(HasSubstr("its input is float because of"), HasSubstr("(Cast)")));
}

TEST(Compile, MessagesNameTheFileOnce) {
  Options o;
  o.source.path = "/nowhere/model.onnx";
  const std::string text = failure(o);
  const std::size_t at = text.find("/nowhere");
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(text.find("/nowhere", at + 1), std::string::npos) << text;
}

TEST(NearNames, AreThoseFewChangesAway) {
  const std::vector<std::string> names = {"conv1", "conv2", "relu", "/model/head/conv_out"};
  EXPECT_EQ(near_names("Conv1", names), "; near: 'conv1', 'conv2'");
  EXPECT_EQ(near_names("conv_out", names), "; near: '/model/head/conv_out'");
  EXPECT_EQ(near_names("softmax", names), "");
}

TEST(Choices, AreAppliedAndReadBackFromTheirText) {
  compile::Options made, read;
  compile::choose(made, "--force", "a=b=cpu");
  compile::choose(made, "--force", "*=npu");
  compile::choose(made, "--without", "cascades");
  EXPECT_EQ(made.choices, "--force a=b=cpu\n--force *=npu\n--without cascades\n");
  compile::choose_all(read, made.choices);
  EXPECT_EQ(read.choices, made.choices);
  EXPECT_THAT(read.forced,
              testing::ElementsAre(testing::Pair("a=b", false), testing::Pair("*", true)));
  EXPECT_FALSE(read.plan.cascade);
  EXPECT_TRUE(read.plan.fuse);
  compile::choose(read, "--sram-cap", "0.5KiB");
  compile::choose(read, "--optimize", "size");
  EXPECT_EQ(read.plan.sram_bytes, 512u);
  EXPECT_EQ(read.plan.goal, plan::Goal::memory);
  compile::choose(read, "--optimize", "speed");
  EXPECT_EQ(read.plan.goal, plan::Goal::time);
  for (const char* wrong :
       {"--force\n", "--force a\n", "--force =cpu\n", "--without x", "nonsense", "\n",
        "--sram-cap much", "--sram-cap 0", "--sram-cap 1.5", "--optimize fast"})
    EXPECT_THROW(compile::choose_all(read, wrong), Error) << wrong;
}

}  // namespace
}  // namespace longshore::compile::compile_test
