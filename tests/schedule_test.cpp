// A plan is a schedule: what is fused, kept in SRAM, interleaved or shared out to cores is only a
// list of tasks. Here such lists are written by hand.
#include <gmock/gmock.h>

#include "npu_case.hpp"

namespace longshore::tests::schedule_test {
namespace {

using plan::Box;
using plan::Plan;
using plan::TileTask;

/// The plan's program passes the verifier, with taps too, and every tapped value and output equals
/// the reference's bytes, in the predicted order and in a random one.
void expect_bytes(const Graph& g, const Plan& p) {
  const Program shipped = lower::lower(p);
  ASSERT_EQ(refusals(shipped), "") << plan::print(p);
  const lower::Tapped tapped = lower::lower_tapped(p);
  ASSERT_EQ(refusals(tapped.program), "") << plan::print(p);
  std::map<std::size_t, Tensor> want;
  const std::vector<Tensor> in = random_codes(g, seed());
  const std::vector<Tensor> outputs = evaluate(
      g, in, {.observe = [&](ValueId v, const TensorView& t) { want[index(v)] = copy_tensor(t); }});
  SimulatedGraph simulated(g, tapped.program, {.poison = true});
  for (const std::uint64_t order : {0u, 5u, 23u}) {
    const std::vector<Tensor> got = simulated.run(in, order);
    for (std::size_t i = 0; i < outputs.size(); i++)
      EXPECT_TRUE(got[i] == outputs[i]) << "output " << i << ", order " << order;
    for (std::size_t i = 0; i < tapped.values.size(); i++)
      EXPECT_TRUE(got[outputs.size() + i] == want[index(tapped.values[i])])
          << "value '" << g[tapped.values[i]].name << "', order " << order;
  }
  SimulatedGraph bare(g, shipped, {.poison = true});
  EXPECT_TRUE(bare.run(in) == outputs);
}

/// Two pools in a row on 12 x 8 pixels of 16 channels; not fused.
Graph two_layers() {
  return parse(R"((x: i8[1,16,12,8] q(0.1, 3)) {
    a: i8[1,16,12,8] q(0.1, 3) = MaxPool(x, kernel_shape=[3,3], pads=[1,1,1,1])
    y: i8[1,16,12,8] q(0.05, 1) = AveragePool(a, kernel_shape=[3,1], pads=[1,0,1,0]) return y })");
}

// Stripe by stripe: the first layer's rows stay in SRAM, where the second finds them with its halo.
TEST(Schedule, TwoLayersInterleavedThroughSram) {
  const Graph g = two_layers();
  for (const char* target : {"rk3588-like", "shore-1"}) {
    const Plan plain = plan::make_plan(place(g, load_target(target), {.by_price = false}));
    ASSERT_EQ(plain.layers.size(), 2u);
    Plan p = plain;
    p.tasks.clear();
    p.items.clear();
    const Machine& m = p.placement.target.machine;
    const std::int64_t row = forms::tile_shape(m, 1, 8, 16).bytes();
    const auto at = [&](std::int64_t base, std::int64_t rows) {
      return static_cast<std::uint32_t>(base + rows * row);
    };
    // x's rows, all of a's rows, one stripe of y.
    const std::int64_t x_at = 0, a_at = 6 * row, y_at = a_at + 12 * row;
    std::int64_t made = 0;  // rows of a
    for (std::int64_t y = 0; y < 12; y += 3) {
      for (; made < std::min<std::int64_t>(12, y + 4); made++) {
        TileTask t;
        t.layer = 0;
        t.box.out = {0, {made, made + 1}, {0, 8}, {0, 16}};
        t.operands = {{at(x_at, made % 2 * 3), false}};
        t.results = {at(a_at, made)};
        t.stored = false;
        p.items.push_back({true, p.tasks.size()});
        p.tasks.push_back(t);
      }
      TileTask t;
      t.layer = 1;
      t.box.out = {0, {y, y + 3}, {0, 8}, {0, 16}};
      t.operands = {{at(a_at, std::max<std::int64_t>(0, y - 1)), true}};
      t.results = {at(y_at, 0)};
      p.items.push_back({true, p.tasks.size()});
      p.tasks.push_back(t);
    }
    expect_bytes(g, p);
    // The tensor between them never leaves the SRAM: the first layer stores nothing, the second
    // loads nothing.
    const Program program = lower::lower(p);
    const auto moves = [&](Queue queue, std::uint32_t layer) {
      return std::ranges::any_of(
          program.queues[static_cast<int>(queue)],
          [&](const Instruction& i) { return i.layer == layer && i.operation.is<Dma>(); });
    };
    EXPECT_TRUE(moves(Queue::dma_in, 0) && moves(Queue::dma_out, 1));
    EXPECT_FALSE(moves(Queue::dma_out, 0) || moves(Queue::dma_in, 1)) << target;
  }
}

// Rows of one layer on two cores, each with its own queues and SRAM.
TEST(Schedule, TwoCoresShareOneLayer) {
  const Graph g = parse(R"((x: i8[1,8,12,8] q(0.1, 3)) {
    a: i8[1,8,12,8] q(0.05, -5) = Sigmoid(x)
    y: i8[1,4,12,8] q(0.05, -5) = Conv(a, i8[4,8,1,1] q(0.02, 0) {
      1,-2,3,4,5,6,-7,8, 9,10,11,-12,13,14,15,16, -17,18,19,20,21,22,23,-24, 1,2,3,4,5,6,7,8})
    return y })");
  for (const char* target : {"rk3588-like", "shore-1"}) {
    Target two = load_target(target);
    two.machine.cores = 2;
    Plan p = plan::make_plan(place(g, two, {.by_price = false}));
    ASSERT_EQ(p.layers.size(), 2u);
    for (plan::Layer& l : p.layers) l.tiling.rows = 3;
    p.tasks.clear();
    p.items.clear();
    for (std::uint32_t layer = 0; layer < 2; layer++) {
      std::vector<TileTask> tasks = plan::layer_tasks(p, p.layers[layer], layer);
      ASSERT_EQ(tasks.size(), 4u);
      for (std::size_t i = 0; i < tasks.size(); i++) {
        tasks[i].core = static_cast<std::uint8_t>(i % 2);
        // Each core loads what it needs into its own SRAM.
        for (TileTask::Place& place : tasks[i].operands) place.filled = place.filled && i > 1;
        p.items.push_back({true, p.tasks.size()});
        p.tasks.push_back(tasks[i]);
      }
    }
    expect_bytes(g, p);
    const Program program = lower::lower(p);
    for (int q : {static_cast<int>(Queue::mac), static_cast<int>(Queue::vector)})
      EXPECT_TRUE(
          std::ranges::any_of(program.queues[q], [](const Instruction& i) { return i.core == 1; }));
  }
}

// Both sides of the product come from the NPU: the second is loaded where weights would be.
TEST(Schedule, AProductOfTwoActivations) {
  const Graph g = parse(R"((x: i8[6,16] q(0.1, 3), z: i8[16,5] q(0.2, 0)) {
    a: i8[6,16] q(0.05, -5) = Sigmoid(x)
    b: i8[16,5] q(0.02, 0) = Tanh(z)
    y: i8[6,5] q(0.05, 2) = MatMul(a, b) return y })");
  for (const char* target : {"rk3588-like", "shore-1"}) {
    const Placement placed = place(g, load_target(target), {.by_price = false});
    ASSERT_TRUE(placed.nodes[2].on_npu())
        << (placed.nodes[2].reasons().empty() ? "" : placed.nodes[2].reasons()[0].text);
    const Plan p = plan::make_plan(placed);
    expect_bytes(g, p);
  }
}

// Three cores with taps of everything stay within the semaphores of a target.
TEST(Schedule, ThreeCoresWithTapsFitTheSemaphores) {
  const Graph g = parse(R"((x: i8[1,8,12,8] q(0.1, 3)) {
    a: i8[1,8,12,8] q(0.05, -5) = Sigmoid(x)
    b: i8[1,8,12,8] q(0.05, -5) = MaxPool(a, kernel_shape=[3,3], pads=[1,1,1,1])
    c: i8[1,8,12,8] q(0.1, 1) = Add(b, x)
    d: i8[1,8,12,8] q(0.1, 1) = Conv(c, i8[8,1,1,1] q(0.5, 0) {1,2,3,4,-5,6,7,8}, group=8)
    y: i8[1,8,1,1] q(0.05, 2) = GlobalAveragePool(d) return d, y })");
  Target three = load_target("rk3588-like");
  three.machine.cores = 3;
  Plan p = plan::make_plan(place(g, three, {.by_price = false}));
  for (plan::Layer& l : p.layers)
    if (l.stages.front().out.h > 1) l.tiling.rows = 2;
  p.tasks.clear();
  p.items.clear();
  for (std::uint32_t layer = 0; layer < p.layers.size(); layer++) {
    std::vector<TileTask> tasks = plan::layer_tasks(p, p.layers[layer], layer);
    for (std::size_t i = 0; i < tasks.size(); i++) {
      if (tasks.size() > 1 && tasks[i].box.begins && tasks[i].box.ends)
        tasks[i].core = static_cast<std::uint8_t>(i % 3);
      for (TileTask::Place& place : tasks[i].operands) place.filled = place.filled && i > 2;
      p.items.push_back({true, p.tasks.size()});
      p.tasks.push_back(tasks[i]);
    }
  }
  expect_bytes(g, p);
}

}  // namespace
}  // namespace longshore::tests::schedule_test
