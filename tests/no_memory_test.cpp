// Every single allocation fails in turn: each entrance of the runtime answers with a Status.
#include <gtest/gtest.h>

#include "allocations.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "temporary_folder.hpp"
#include "program/bundle.hpp"
#include "program/codec.hpp"
#include "random.hpp"
#include "sim/simulate.hpp"
#include "write/bundle.hpp"

namespace longshore::tests::no_memory_test {
namespace {

/// Floats, codes, a table, a nested program, data-dependent dims, kernels that pack.
Graph net() {
  return parse(R"((x: f32[N,8], c: bool[]) {
    w = f32[8,8]{0.5}
    a = MatMul(x, w)
    q: i8[N,8] q(0.5, 0) = longshore.Quantize(a)
    t: i8[N,8] q(0.5, 0) = Sigmoid(q)
    d = longshore.Dequantize(t)
    y = If(c) then_branch=() { b = Add(d, a) return b } else_branch=() { b = Relu(d) return b }
    z = NonZero(x)
    return y, z })");
}

struct Prepared {
  Graph graph = net();
  Program program = lower::lower_cpu(graph);
  LoadOptions options;
  std::vector<Tensor> in = random_inputs(graph, seed());
  std::vector<TensorView> views;
  Prepared() {
    options.operators = operator_table();
    // A program for other dims is copied: the compiler has its own ways to run out of memory.
    InferOptions infer_options;
    for (std::size_t i = 0; i < in.size(); i++)
      infer_options.input_shapes[graph[graph.inputs[i]].name] = in[i].shape;
    options.specialise = [special = lower::lower_cpu(infer(graph, infer_options))](
                             std::span<const Shape>) -> Result<Program> { return special; };
    for (const Tensor& t : in) views.push_back(t.view());
  }
};

TEST(NoMemory, WhileLoading) {
  const Prepared p;
  starve([&] { return p.program; },
         [&](Program program) { return Model::load(std::move(program), p.options).status(); });
}

TEST(NoMemory, WhileMakingAContext) {
  const Prepared p;
  LoadOptions options = p.options;
  for (bool special : {true, false}) {
    if (!special) options.specialise = nullptr;
    const Result<Model> model = Model::load(p.program, options);
    ASSERT_TRUE(model.ok()) << model.status().text();
    for (int threads : {1, 3}) starve([&] { return Context::create(*model, threads).status(); });
  }
}

TEST(NoMemory, WhileRunning) {
  const Prepared p;
  LoadOptions options = p.options;
  for (bool special : {true, false}) {
    if (!special) options.specialise = nullptr;
    const Result<Model> model = Model::load(p.program, options);
    ASSERT_TRUE(model.ok()) << model.status().text();
    Result<Context> context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    starve([&] { return context->run(p.views); });
    const std::vector<Tensor> want = evaluate(p.graph, p.in);
    ASSERT_TRUE(context->run(p.views).ok()) << "a run that failed must not spoil the next";
    for (std::size_t i = 0; i < want.size(); i++)
      EXPECT_EQ(context->output(i).shape, want[i].shape);
  }
}

TEST(NoMemory, WhileOpeningABundle) {
  const Prepared p;
  const std::vector<std::byte> bytes = bundle_bytes({p.graph, p.program, "", ""});
  const SharedBlob file = make_blob(bytes);
  starve([&] { return Bundle::open(file).status(); });
  const Result<Bundle> bundle = Bundle::open(file);
  ASSERT_TRUE(bundle.ok());
  starve([&] { return bundle->program().status(); });
}

TEST(NoMemory, WhileReadingAFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() / "bytes";
  ASSERT_TRUE(write_file(path, std::vector<std::byte>(10'000)).ok());
  starve([&] { return read_file(path).status(); });
}

}  // namespace
}  // namespace longshore::tests::no_memory_test
