// Weights exist once: for all programs of a model, all input dims, all contexts and threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "base/error.hpp"
#include "cpu/pack.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "random.hpp"

namespace longshore::tests::weights_once_test {
namespace {

/// Kernels that pack (conv, gemm), constants that are read as they are, unknown dims, a Loop.
Graph net() {
  std::mt19937 rng(seed());
  Graph g = parse(R"((x: f32[N,1,8,8], w: f32[4,1,3,3], m: f32[256,40], b: f32[40], k: f32[40]) {
    c = Conv(x, w, pads=[1,1,1,1])
    f = Flatten(c)
    d = Gemm(f, m, b)
    e = Add(d, k)
    y = Relu(e)
    return y })");
  while (g.inputs.size() > 1) {
    Value& v = g[g.inputs.back()];
    v.constant = random_tensor(rng, DType::f32, *v.type.shape());
    g.inputs.pop_back();
  }
  return tidy(g);
}

Tensor input(std::int64_t rows) {
  std::mt19937 rng(static_cast<unsigned>(rows));
  return random_tensor(rng, DType::f32, Shape{rows, 1, 8, 8});
}

struct Loaded {
  std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);
  std::optional<Model> model;
};

Loaded load(const Graph& g) {
  Loaded out;
  LoadOptions options;
  options.operators = operator_table();
  options.specialise = [made = out.made, inner = specialiser(g)](std::span<const Shape> dims) {
    ++*made;
    return inner(dims);
  };
  Result<Model> model = Model::load(lower::lower_cpu(g), options);
  require(model.status());
  out.model = *model;
  return out;
}

Context context_of(const Loaded& m, int threads = 1) {
  Result<Context> context = Context::create(*m.model, threads);
  require(context.status());
  return std::move(*context);
}

void run(Context& context, const Tensor& x) {
  const TensorView view = x.view();
  require(context.run(std::span(&view, 1)));
}

/// EXPECT_EQ without gtest's allocation per thread.
bool right(Context& context, const Graph& g, const Tensor& x) {
  run(context, x);
  const Tensor got = copy_tensor(context.output(0)), want = evaluate(g, std::span(&x, 1))[0];
  if (!(got.shape == want.shape)) return false;
  for (std::size_t i = 0; i < want.values<float>().size(); i++)
    if (std::abs(got.values<float>()[i] - want.values<float>()[i]) >
        1e-5f * std::abs(want.values<float>()[i]) + 1e-2f)  // sums of thousands
      return false;
  return true;
}

TEST(WeightsOnce, ProgramsShareTheConstantsOfTheGraph) {
  const Graph g = net();
  std::vector<const Blob*> blobs;
  for (const Value& v : g.values)
    if (v.constant.present()) blobs.push_back(v.constant.blob.get());
  ASSERT_EQ(blobs.size(), 4u);
  const Loaded m = load(g);
  Context context = context_of(m);
  for (std::int64_t rows : {2, 3, 5}) {
    EXPECT_TRUE(right(context, g, input(rows)));
    std::size_t found = 0;
    for (const ProgramValue& v : context.program().values) {
      if (v.storage != Storage::constant) continue;
      EXPECT_THAT(blobs, testing::Contains(v.constant.get())) << v.name;
      found++;
    }
    EXPECT_GE(found, 4u);
  }
}

TEST(WeightsOnce, ANewShapePacksNothing) {
  const Graph g = net();
  const Loaded m = load(g);
  Context context = context_of(m);
  run(context, input(2));
  const std::uint64_t packed = m.model->packed_bytes();
  EXPECT_GE(packed, (4 * 9 + 256 * 40) * sizeof(float));
  for (std::int64_t rows : {1, 3, 70}) run(context, input(rows));
  EXPECT_EQ(m.model->packed_bytes(), packed);
  Context other = context_of(m, 2);
  run(other, input(9));
  EXPECT_EQ(m.model->packed_bytes(), packed);
}

TEST(WeightsOnce, AContextHasOneArenaForAllShapes) {
  const Graph g = net();
  const Loaded m = load(g);
  Context large = context_of(m), all = context_of(m);
  run(large, input(64));
  for (std::int64_t rows : {1, 64, 2, 32, 48}) run(all, input(rows));
  EXPECT_EQ(all.memory_bytes(), large.memory_bytes());
}

TEST(WeightsOnce, ThreadsMakeAShapeOnce) {
  const Graph g = net();
  const Loaded m = load(g);
  constexpr int threads = 8;
  for (std::int64_t rows : {2, 5, 11}) {
    std::vector<Context> contexts;
    for (int t = 0; t < threads; t++) contexts.push_back(context_of(m, t % 2));
    const int before = *m.made;
    std::atomic<int> wrong{0};
    std::barrier start(threads);
    {
      std::vector<std::jthread> running;
      for (int t = 0; t < threads; t++)
        running.emplace_back([&, t] {
          start.arrive_and_wait();
          if (!right(contexts[static_cast<std::size_t>(t)], g, input(rows))) wrong++;
        });
    }
    EXPECT_EQ(*m.made - before, 1) << rows;
    EXPECT_EQ(wrong, 0);
  }
}

/// For the thread sanitizer above all: dims that come and go, evictions, own and shared pools.
TEST(WeightsOnce, ContextsOfOneModelRunOnThreads) {
  const Graph g = net();
  const Loaded m = load(g);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < 4; t++)
      running.emplace_back([&, t] {
        Context context = context_of(m, t == 3 ? 2 : 0);
        for (int i = 0; i < 24; i++)
          if (!right(context, g, input(1 + (i * (t + 1)) % 20))) wrong++;
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(WeightsOnce, TheShapeUsedLongestAgoGoesFirst) {
  const Graph g = net();
  const Loaded m = load(g);
  Context context = context_of(m);
  for (std::int64_t rows = 1; rows <= 16; rows++) run(context, input(rows));
  EXPECT_EQ(*m.made, 16);
  run(context, input(1));  // now 2 is the oldest
  EXPECT_EQ(*m.made, 16);
  run(context, input(17));
  EXPECT_EQ(*m.made, 17);
  run(context, input(1));
  EXPECT_EQ(*m.made, 17) << "a shape in use was dropped";
  Context fresh = context_of(m);
  run(fresh, input(16));
  EXPECT_EQ(*m.made, 17) << "contexts share what the model has";
}

TEST(WeightsOnce, AFailureIsNotKept) {
  const Graph g = net();
  LoadOptions options;
  options.operators = operator_table();
  auto fail = std::make_shared<std::atomic<bool>>(true);
  options.specialise = [fail,
                        inner = specialiser(g)](std::span<const Shape> dims) -> Result<Program> {
    if (*fail) return Status::error(Code::exhausted, "not now");
    return inner(dims);
  };
  const Result<Model> model = Model::load(lower::lower_cpu(g), options);
  ASSERT_TRUE(model.ok());
  Result<Context> context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  const Tensor x = input(3);
  const TensorView view = x.view();
  EXPECT_STREQ(context->run(std::span(&view, 1)).text(), "not now");
  EXPECT_FALSE(context->output(0).present());
  *fail = false;
  EXPECT_TRUE(context->run(std::span(&view, 1)).ok());
}

TEST(WeightsOnce, APackGoesWithItsConstant) {
  cpu::PackCache cache;
  SharedBlob kept = make_blob(std::vector<std::byte>(64)),
             gone = make_blob(std::vector<std::byte>(64));
  int packed = 0;
  const auto pack = [&](const SharedBlob& blob, std::int64_t layout) {
    return cache.get(blob->bytes().data(), blob, {"test", {layout}}, 64,
                     [&](std::byte*) { packed++; });
  };
  const cpu::Pack first = pack(kept, 1);
  EXPECT_EQ(pack(kept, 1), first);
  EXPECT_NE(pack(kept, 2), first) << "another layout is another pack";
  pack(gone, 1);
  pack(gone, 2);
  EXPECT_EQ(packed, 4);
  const std::weak_ptr<const Blob> watch = gone;
  cache.drop_unused();
  EXPECT_FALSE(watch.expired());
  gone.reset();
  cache.drop_unused();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(pack(kept, 1), first);
  EXPECT_EQ(packed, 4);
}

}  // namespace
}  // namespace longshore::tests::weights_once_test
