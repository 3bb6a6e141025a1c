// A runtime without operators: what an NPU runs alone needs none.
#include "allocations.hpp"
#include "npu_case.hpp"
#include "program/bundle.hpp"
#include "run/context.hpp"
#include "write/bundle.hpp"

namespace longshore::tests::smallest_runtime_test {
namespace {

TEST(SmallestRuntime, RunsWhatAnNpuRunsWithoutOperators) {
  const Graph g = parse(R"((x: i8[1,16,12,12] q(0.1, 3)) {
    a: i8[1,16,12,12] q(0.05, -5) = Sigmoid(x)
    b: i8[1,16,12,12] q(0.05, -5) = MaxPool(a, kernel_shape=[3,3], pads=[1,1,1,1])
    c: i8[1,16,12,12] q(0.1, 1) = Add(b, x) return c })");
  for (const char* target : {"rk3588-like", "shore-1"}) {
    BundleContents contents;
    contents.graph = g;
    contents.program =
        lower::lower(plan::make_plan(place(g, load_target(target), {.by_price = false})));
    const std::size_t copies = static_cast<std::size_t>(
        std::ranges::count(contents.program.steps, Step::Kind::copy, &Step::kind));
    EXPECT_EQ(copies, 1u) << "the input is staged";
    const Result<Bundle> bundle = Bundle::open(make_blob(bundle_bytes(contents)));
    ASSERT_TRUE(bundle.ok()) << bundle.status().text();
    Result<Program> program = bundle->program();
    ASSERT_TRUE(program.ok()) << program.status().text();
    const Result<Model> model = Model::load(std::move(*program), {});
    ASSERT_TRUE(model.ok()) << model.status().text();
    Result<Context> context = Context::create(*model);
    ASSERT_TRUE(context.ok()) << context.status().text();
    for (unsigned s : {1u, 2u}) {
      const std::vector<Tensor> in = random_codes(g, seed() + s);
      const TensorView view = in[0].view();
      const Status status = context->run(std::span(&view, 1));
      ASSERT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(copy_tensor(context->output(0)), evaluate(g, in)[0]);
    }
  }
}

TEST(NoMemory, WhileSimulating) {
  const Graph g = parse(R"((x: i8[1,16,6,6] q(0.1, 3)) {
    w = i8[16,16,1,1] q(0.1, 0){3}
    a: i8[1,16,6,6] q(0.05, -5) = Conv(x, w)
    b: i8[1,16,3,3] q(0.05, -5) = AveragePool(a, kernel_shape=[2,2], strides=[2,2])
    c: i8[1,16,3,3] q(0.1, 1) = Add(b, b) return c })");
  const Program program =
      lower::lower(plan::make_plan(place(g, load_target("rk3588-like"), {.by_price = false})));
  const Result<Model> model = Model::load(program, {});
  ASSERT_TRUE(model.ok()) << model.status().text();
  starve([&] { return Context::create(*model).status(); });
  Result<Context> context = Context::create(*model);
  ASSERT_TRUE(context.ok()) << context.status().text();
  const std::vector<Tensor> in = random_codes(g, seed());
  const TensorView view = in[0].view();
  starve([&] { return context->run(std::span(&view, 1)); });
  ASSERT_TRUE(context->run(std::span(&view, 1)).ok());
  EXPECT_EQ(copy_tensor(context->output(0)), evaluate(g, in)[0]);
}

TEST(SmallestRuntime, RefusesCopiesThatAreNone) {
  Program good;
  good.values.resize(2);
  for (ProgramValue& v : good.values) {
    v.dtype = DType::f32;
    v.shape = Shape{4};
  }
  good.values[0].storage = Storage::input;
  good.inputs = {0};
  good.outputs = {1};
  good.arena_bytes = 64;
  good.steps.resize(1);
  good.steps[0].kind = Step::Kind::copy;
  good.steps[0].inputs = {0};
  good.steps[0].outputs = {1};
  const Result<Model> model = Model::load(good, {});
  ASSERT_TRUE(model.ok()) << model.status().text();
  Result<Context> context = Context::create(*model);
  const float data[4] = {1, 2, 3, 4};
  const TensorView view{DType::f32, Shape{4}, data, {}};
  ASSERT_TRUE(context->run(std::span(&view, 1)).ok());
  EXPECT_EQ(context->output(0).as<float>()[3], 4);
  const auto refused = [&](auto&& change) {
    Program p = good;
    change(p);
    return !Model::load(std::move(p), {}).ok();
  };
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].inputs.clear(); }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].outputs = {no_index}; }));
  EXPECT_TRUE(refused([](Program& p) { p.steps[0].outputs = {0}; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].shape = Shape{3}; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].dtype = DType::i32; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[1].storage = Storage::dynamic; }));
  EXPECT_TRUE(refused([](Program& p) { p.values[0].fixed_shape = false; }));
}

}  // namespace
}  // namespace longshore::tests::smallest_runtime_test
