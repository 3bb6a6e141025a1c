// Placement: every failed limit with its line and the smallest change, and prices that decide.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "lower/lower.hpp"
#include "onnx_model.hpp"
#include "place/place.hpp"
#include "place/price.hpp"
#include "plan/plan.hpp"
#include "program/instructions/eltwise.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/table.hpp"

namespace longshore::tests::place_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

/// Convolution with a kernel and stride to try limits with.
Graph conv(std::int64_t kernel, std::int64_t stride, std::string_view more = {}) {
  Graph g;
  TensorType x(DType::i8, Shape{1, 2, 40, 40});
  x.quant = {{0.1f}, {0}, 0};
  const ValueId in = g.add_input("x", x);
  const std::vector<std::int8_t> codes(static_cast<std::size_t>(4 * 2 * kernel * kernel), 1);
  const ValueId w =
      g.add_constant("w", make_tensor<std::int8_t>(DType::i8, Shape{4, 2, kernel, kernel}, codes));
  g[w].type.quant = {{0.01f}, {0}, 0};
  Node n;
  n.op = &op_named(more.empty() ? "Conv" : "com.microsoft.FusedConv");
  n.inputs = {in, w};
  n.attributes.set("strides", Ints{stride, stride});
  if (!more.empty()) n.attributes.set("activation", std::string(more));
  n.origin.name = "conv";
  TensorType y(DType::i8, Shape{1, 4, (40 - kernel) / stride + 1, (40 - kernel) / stride + 1});
  y.quant = {{0.1f}, {0}, 0};
  n.outputs = {g.add_value("y", y)};
  g.add_node(n);
  g[n.outputs[0]].type = y;
  g.outputs = {n.outputs[0]};
  return g;
}

std::string line_of(const Target& t, std::string_view form, std::string_view fact) {
  for (const FactLimit& l : t.forms.find(form)->second.limits)
    if (l.fact == fact) return l.where;
  return "no such limit";
}

TEST(Place, EveryFailedLimitHasItsLineAndTheSmallestChange) {
  const Target t = load_target("shore-1");
  const NodePlacement n = place(conv(17, 5), t).nodes[0];
  EXPECT_FALSE(n.on_npu());
  ASSERT_EQ(n.reasons().size(), 4u);
  EXPECT_EQ(n.reasons()[0], (Reason{"kernel_h is 17; the target allows 1 to 16",
                                    line_of(t, "mac", "kernel_h"),
                                    "lower kernel_h from 17 to 16",
                                    {Wanted::Kind::fact, "kernel_h", "17", "16"}}));
  EXPECT_EQ(n.reasons()[1], (Reason{"kernel_w is 17; the target allows 1 to 16",
                                    line_of(t, "mac", "kernel_w"),
                                    "lower kernel_w from 17 to 16",
                                    {Wanted::Kind::fact, "kernel_w", "17", "16"}}));
  EXPECT_EQ(n.reasons()[2], (Reason{"stride_h is 5; the target allows 1 to 4",
                                    line_of(t, "mac", "stride_h"),
                                    "lower stride_h from 5 to 4",
                                    {Wanted::Kind::fact, "stride_h", "5", "4"}}));
  EXPECT_EQ(n.reasons()[3].change, "lower stride_w from 5 to 4");
  EXPECT_GT(n.cpu_us(), 0);
  EXPECT_EQ(n.npu_us(), -1);
  // The line is the one that states the limit.
  EXPECT_THAT(n.reasons()[0].where, HasSubstr("shore-1.toml:"));
}

TEST(Place, TheChangeThatIsNamedRemovesTheReason) {
  const Target t = load_target("shore-1");
  EXPECT_EQ(place(conv(16, 4), t, {.by_price = false}).nodes[0].unit(), "npu");
}

/// What would let the first node onto the NPU.
std::vector<std::string> changes(const Graph& g, const Target& t) {
  std::vector<std::string> out;
  for (const Reason& r : place(g, t).nodes[0].reasons()) out.push_back(r.change);
  return out;
}

// A pool over the whole plane has a kernel of its size, and the change names both numbers.
TEST(Place, AGlobalPoolNamesItsKernel) {
  const Target t = parse_target(
      "like = \"shore-1\"\nname = \"small\"\n[forms.pool]\nkernel_h = [1, 8]\nkernel_w = [1, 8]\n",
      "small");
  const Graph g = parse(
      "(x: i8[1,3,40,36] q(0.1, 3)) { y: i8[1,3,1,1] q(0.1, 3) = GlobalMaxPool(x) "
      "return y }");
  std::vector<std::string> changes;
  for (const Reason& r : place(g, t).nodes[0].reasons()) changes.push_back(r.change);
  EXPECT_THAT(changes, ElementsAre("lower kernel_h from 40 to 8", "lower kernel_w from 36 to 8"));
}

TEST(Place, AResizeThatInterpolatesNamesItsMode) {
  for (const char* mode : {"linear", "cubic"}) {
    const Graph g =
        parse(str("(x: i8[1,3,4,5] q(0.1, 3)) { y: i8[1,3,8,10] q(0.1, 3) = Resize(x, _, "
                  "f32[4]{1.0,1.0,2.0,2.0}, mode=\"",
                  mode, "\") return y }"));
    EXPECT_THAT(changes(g, load_target("shore-1")),
                ElementsAre(str("change mode from ", mode, " to nearest")));
  }
  // Upsample becomes a Resize where a model is read.
  OnnxModel m(9);
  input(m.graph(), "x", {1, 3, 4, 5});
  *m.graph().add_initializer() = floats("scales", {4}, {1, 1, 2, 2});
  onnx::NodeProto& n = node(m.graph(), "Upsample", {"x", "scales"}, {"y"});
  attribute(n, "mode", 3).set_s("linear");
  output(m.graph(), "y");
  Graph g = m.read().graph;
  for (const ValueId v : {g.inputs[0], g.outputs[0]}) {
    g[v].type.dtype = DType::i8;
    g[v].type.quant = {{0.1f}, {3}, 0};
  }
  EXPECT_THAT(changes(g, load_target("shore-1")),
              ElementsAre("change mode from linear to nearest"));
}

TEST(Place, AnActivationThatCannotBeFused) {
  const NodePlacement n = place(conv(3, 1, "Sigmoid"), load_target("shore-1")).nodes[0];
  EXPECT_FALSE(n.on_npu());
  EXPECT_THAT(n.reasons()[0].text, HasSubstr("cannot fuse the activation Sigmoid"));
  EXPECT_THAT(n.reasons()[0].where, HasSubstr("shore-1.toml:"));
  EXPECT_EQ(n.reasons()[0].change, "keep Sigmoid as a node of its own");
}

TEST(Place, FloatNodesSayNotQuantised) {
  const Graph g = parse("(x: f32[1,2,8,8], w: f32[4,2,3,3]) { y = Conv(x, w) return y }");
  const NodePlacement n = place(g, load_target("rk3588-like")).nodes[0];
  EXPECT_FALSE(n.on_npu());
  EXPECT_EQ(n.reasons()[0].text, "its input 'x' is f32[1, 2, 8, 8], not quantised");
}

TEST(Place, ACpuTargetTakesEverything) {
  const Placement p = place(conv(3, 1), load_target("cpu"));
  EXPECT_EQ(p.nodes[0].unit(), "cpu");
  EXPECT_EQ(p.nodes[0].reasons()[0].text, "the target cpu has no NPU");
  EXPECT_EQ(p.npu_mac_share(), 0);
}

TEST(Place, ARoundingModeThatTheTargetLacksIsRefused) {
  Target t = load_target("shore-1");
  t.machine.roundings = 1;  // f32_even alone
  Graph g = conv(3, 1);
  EXPECT_NO_THROW(place(g, t));
  g.numbers = Rounding::fixed31_double;
  try {
    place(g, t);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unsupported);
    EXPECT_THAT(e.what(), HasSubstr("fixed31_double, which shore-1 lacks (shore-1.toml:"));
  }
}

TEST(Place, AVectorUnitWithoutTheFunctionIsAReason) {
  Target t = load_target("shore-1");
  t.machine.cycles_of(vector_unit::table) = 0;
  const Graph g =
      parse("(x: i8[1,8,16,16] q(0.1, 0)) { y: i8[1,8,16,16] q(0.01, 0) = Sigmoid(x) return y }");
  EXPECT_THAT(place(g, t).nodes[0].reasons()[0].text,
              HasSubstr("shore-1 has no table in its vector unit"));
}

// The result's first axis would be walked as rows, the input's as a batch.
TEST(Place, AMeanThatDropsTheAxesOfABatchSaysSo) {
  for (const std::int64_t batch : {1, 2}) {
    const Graph g = parse(str("(x: i8[", batch, ",7,5] q(0.1, 0)) { y: i8[", batch,
                              ",5] q(0.1, 0) = ReduceMean(x, i64[1]{1}, keepdims=0) return y }"));
    const NodePlacement n = place(g, load_target("shore-1"), {.by_price = false}).nodes[0];
    EXPECT_EQ(n.on_npu(), batch == 1);
    if (batch == 2) {
      EXPECT_EQ(n.reasons()[0].text, "keepdims of a batch above 1 is 0, not 1");
    }
  }
}

// A lone cheap node costs more to hand over than to run.
TEST(Place, ALoneCheapNodeStaysOnTheCpu) {
  const Graph g =
      parse("(x: i8[1,4,4,4] q(0.1, 0)) { y: i8[1,4,4,4] q(0.01, 0) = Sigmoid(x) return y }");
  const Target t = load_target("rk3588-like");
  const NodePlacement n = place(g, t).nodes[0];
  EXPECT_FALSE(n.on_npu());
  ASSERT_EQ(n.reasons().size(), 1u);
  EXPECT_THAT(n.reasons()[0].text, HasSubstr("faster on the CPU: "));
  EXPECT_THAT(n.reasons()[0].change, MatchesRegex("save [0-9]+(\\.[0-9]+)? us of handing over"));
  EXPECT_GT(n.npu_us() + n.move_us, n.cpu_us());
  EXPECT_EQ(place(g, t, {.by_price = false}).nodes[0].unit(), "npu");
}

/// Two tables with a chain between them that no NPU runs, or that one does.
Graph two_tables(std::string_view between) {
  return parse(str("(x: i8[1,8,16,16] q(0.1, 0)) { a: i8[1,8,16,16] q(0.01, 0) = Sigmoid(x) ",
                   between, " y: i8[1,8,16,16] q(0.01, 0) = Tanh(b) return y }"));
}

TEST(Place, AUnitThatIsGivenHoldsWhateverItCosts) {
  const Target t = load_target("rk3588-like");
  const Graph g = two_tables("b: i8[1,8,16,16] q(0.01, 0) = Relu(a)");
  const Placement npu = place(g, t, {.forced = {{1, true}}});
  EXPECT_FALSE(place(g, t).nodes[1].on_npu());
  EXPECT_TRUE(npu.nodes[1].on_npu());
  const Placement cpu = place(g, t, {.by_price = false, .forced = {{1, false}}});
  EXPECT_TRUE(cpu.nodes[0].on_npu());
  EXPECT_FALSE(cpu.nodes[1].on_npu());
  ASSERT_EQ(cpu.nodes[1].reasons().size(), 1u);
  EXPECT_EQ(cpu.nodes[1].reasons()[0].text, "it is forced to the CPU");
}

TEST(Place, AUnitThatCannotRunTheNodeIsRefusedWithAllReasons) {
  try {
    place(conv(17, 5), load_target("shore-1"), {.forced = {{0, true}}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unsupported);
    EXPECT_THAT(e.what(), HasSubstr("'conv' (Conv) cannot run on the NPU of shore-1: kernel_h is "
                                    "17; the target allows 1 to 16 (shore-1.toml:"));
    EXPECT_THAT(e.what(), HasSubstr("; stride_w is 5"));
  }
}

/// Microseconds of the model as placed, by the prices that the placement goes by.
double placed_us(const Placement& p) {
  double us = 0;
  std::vector<bool> to_npu(p.graph.values.size()), to_cpu(p.graph.values.size());
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    us += p.nodes[i].option().us;
    for (ValueId v : p.graph.nodes[i].inputs)
      if (v != no_value) (p.nodes[i].on_npu() ? to_npu : to_cpu)[index(v)] = true;
  }
  for (ValueId v : p.graph.outputs) to_cpu[index(v)] = true;
  for (std::size_t i = 0; i < p.graph.values.size(); i++) {
    const auto v = ValueId(i);
    if (p.graph.constant(v)) continue;
    const int def = p.graph[v].def;
    const bool made = def >= 0 && p.nodes[static_cast<std::size_t>(def)].on_npu();
    if (made ? to_cpu[i] : to_npu[i]) us += move_price_us(p.graph, v, p.target.machine, made);
  }
  return us;
}

// Nets without a body of multiply-accumulates, whose CPU price counts as it is.
TEST(Place, NoOtherPlacementIsCheaper) {
  const Target t = load_target("shore-1");
  int mixed = 0;
  for (const std::int64_t size : {16, 64, 112, 160, 224, 320}) {
    const std::string type = str("i8[1,8,", size, ",", size, "] q(0.05, 0)");
    const Graph g = parse(
        str("(x: ", type, ") { a: ", type, " = Sigmoid(x) b: ", type, " = Tanh(a) c: ", type,
            " = HardSwish(b) d: ", type, " = Sigmoid(c) e: ", type, " = Add(d, a) f: ", type,
            " = Softmax(e, axis=3) h: ", type, " = Add(f, a) k: i8[1,8,", size / 2, ",", size / 2,
            "] q(0.05, 0) = MaxPool(h, kernel_shape=[2,2], strides=[2,2]) return k, b }"));
    const Placement best = place(g, t);
    const double least = placed_us(best);
    int npu = 0;
    for (const NodePlacement& n : best.nodes) npu += n.on_npu();
    mixed += npu > 0 && npu < static_cast<int>(g.nodes.size());
    for (unsigned bits = 0; bits < 1u << g.nodes.size(); bits++) {
      PlaceOptions o{.by_price = false};
      for (std::size_t i = 0; i < g.nodes.size(); i++)
        if ((bits >> i & 1) == 0) o.forced[i] = false;
      EXPECT_LE(least, placed_us(place(g, t, o)) * (1 + 1e-9)) << size << ": " << bits;
    }
  }
  EXPECT_GT(mixed, 0);
}

TEST(Place, ANodeThatFitsNoSramGoesToTheCpuWithThatReason) {
  const plan::Plan p = plan::make_plan(
      place(conv(16, 4), load_target("shore-1"), {.by_price = false}), {.sram_bytes = 256});
  EXPECT_EQ(p.placement.nodes[0].unit(), "cpu");
  EXPECT_THAT(p.placement.nodes[0].reasons()[0].text,
              HasSubstr("the SRAM that tiles may use is 256; its smallest tile needs "));
  // The change that is named is the least that helps.
  const std::string change = p.placement.nodes[0].reasons()[0].change;
  const auto least = static_cast<std::uint32_t>(std::stoul(change.substr(change.rfind(' '))));
  const auto planned = [](std::uint32_t bytes) {
    return plan::make_plan(place(conv(16, 4), load_target("shore-1"), {.by_price = false}),
                           {.sram_bytes = bytes});
  };
  EXPECT_EQ(planned(least).placement.nodes[0].unit(), "npu");
  EXPECT_EQ(planned(least - 1).placement.nodes[0].unit(), "cpu");
  EXPECT_TRUE(p.layers.empty());
}

// An operator costs what its own function of the vector unit costs, alone and in the search for
// tiles: with nothing but that function to pay for, five times the cycles are five times the price.
TEST(Place, PoolsAndElementWiseOperatorsArePricedByTheirOwnFunction) {
  Target t = load_target("shore-1");
  Machine& m = t.machine;
  m.layer_switch_cycles = m.dma_setup_cycles = m.dispatch_cycles = m.vector_setup_cycles = 0;
  m.dram_latency_ns = 0;
  m.dram_gb_per_s = m.dma_bytes_per_cycle = 1e6;
  m.cycles_of(vector_unit::max_pool) = 2;
  m.cycles_of(vector_unit::average_pool) = 10;
  m.cycles_of(vector_unit::add) = 3;
  m.cycles_of(vector_unit::multiply) = 15;
  const auto price = [&](const std::string& node) {
    Graph g = parse(
        "(x: i8[1,16,32,32] q(0.1, 0), z: i8[1,16,32,32] q(0.1, 0)) { y: i8[1,16,32,32]"
        " q(0.1, 0) = " +
        node + " return y }");
    const plan::Plan p = plan::make_plan(place(g, t, {.by_price = false}));
    EXPECT_EQ(p.layers.size(), 1u) << node;
    const double planned_us = p.layers.empty() ? 0 : p.layers[0].time.vector * 1e-3;
    return std::pair(p.placement.nodes[0].npu_us(), planned_us);
  };
  const std::string window = "(x, kernel_shape=[3,3], pads=[1,1,1,1])";
  const double steps = 16.0 * 32 * 32 / m.vector_lanes, us = 1 / m.clock_mhz;
  const struct {
    std::string node;
    double cycles;
  } cases[] = {{"MaxPool" + window, steps * 9 * 2},
               {"AveragePool" + window, steps * 9 * 10},
               {"Add(x, z)", steps * 3},
               {"Sub(x, z)", steps * 3},
               {"Mul(x, z)", steps * 15}};
  for (const auto& c : cases) {
    const auto [alone_us, planned_us] = price(c.node);
    EXPECT_NEAR(alone_us, c.cycles * us, 1e-6 * c.cycles * us) << c.node;
    EXPECT_NEAR(planned_us, c.cycles * us, 1e-6 * c.cycles * us) << c.node;
  }
}

// Of a table only the picked rows are read: how many others there are costs nothing.
TEST(Place, WhatPicksRowsCostsThoseRowsAndNotTheTable) {
  const HostCpu cpu = load_target("rk3588-like").cpu;
  const auto price = [&](const std::string& rows, const std::string& node) {
    const Graph g =
        parse("(x: f32[" + rows + ",512], i: i64[7], j: i64[7,1], k: i64[7,512]) { y = " + node +
              " return y }");
    return cpu_price_us(g, g.nodes[0], cpu);
  };
  for (const char* node : {"Gather(x, i, axis=0)", "GatherND(x, j)", "GatherElements(x, k)"}) {
    EXPECT_EQ(price("100000", node), price("10", node)) << node;
    EXPECT_GT(price("10", node), 0) << node;
  }
  // Where the whole table is looked through it is more.
  EXPECT_GT(price("100000", "Relu(x)"), 100 * price("10", "Relu(x)"));
}

// The dense form of a depthwise convolution moves one channel of each pixel at a time. Bytes at a
// stride of 32 take a burst of 64 each, of which 20 are under way in 150 ns: 56 * 56 pixels of 32
// channels are 753 us, however little there is to multiply.
TEST(Place, WhatIsMovedGroupByGroupPaysItsBursts) {
  const Target t = parse_target(
      "like = \"rk3588-like\"\nname = \"narrow\"\n[npu.mac]\noutput_grain = 1\n[npu.dma]\n"
      "outstanding = 20\nburst_bytes = 64\nbytes_per_cycle = 16\n[npu.dram]\nlatency_ns = 150\n",
      "narrow");
  const Graph g = parse(R"((x: i8[1,32,56,56] q(0.1, 3)) {
    y: i8[1,32,56,56] q(0.1, 0) = Conv(x, i8[32,1,3,3] q(0.1, 0) {5}, group=32, pads=[1,1,1,1])
    return y })");
  const NodePlacement n = place(g, t, {.by_price = false}).nodes[0];
  ASSERT_EQ(n.options.size(), 3u);
  EXPECT_EQ(n.form()->name, "depthwise");
  EXPECT_EQ(n.options[2].form->name, "mac");
  EXPECT_NEAR(n.options[2].us, 753, 10);
}

// What placement thinks of a grouped convolution is near what its plan takes.
TEST(Place, AGroupedConvolutionIsPricedAsItIsPlanned) {
  for (const int groups : {2, 4, 16}) {
    // Between two others, so that it reads and writes channels last.
    const Graph g =
        parse(str("(x: i8[1,64,40,40] q(0.1, 3)) {"
                  " a: i8[1,64,40,40] q(0.1, 0) = Conv(x, i8[64,64,1,1] q(0.1, 0) {5})"
                  " b: i8[1,64,40,40] q(0.1, 0) = Conv(a, i8[64,",
                  64 / groups, ",3,3] q(0.1, 0) {5}, group=", groups,
                  ", pads=[1,1,1,1])"
                  " c: i8[1,64,40,40] q(0.1, 0) = Conv(b, i8[64,64,1,1] q(0.1, 0) {5})"
                  " return c }"));
    for (const char* name : {"rk3588-like", "shore-1", "rk3566-like"}) {
      const Placement p = place(g, load_target(name), {.by_price = false});
      const auto layers = lower::timed_plan(p, {.cascade = false}).layers;
      ASSERT_EQ(layers.size(), 3u);
      const double planned = layers[1].time.total * 1e-3;
      EXPECT_LT(p.nodes[1].npu_us(), 1.25 * planned) << name << ", groups " << groups;
      EXPECT_GT(p.nodes[1].npu_us(), planned / 1.6) << name << ", groups " << groups;
    }
  }
}

TEST(Place, WhatLoweringCannotDoIsSaidPerNode) {
  const auto reason = [](std::string_view text) {
    const NodePlacement n =
        place(parse(text), load_target("rk3588-like"), {.by_price = false}).nodes[0];
    EXPECT_FALSE(n.on_npu());
    return n.reasons().empty() ? std::string() : n.reasons().back().text;
  };
  EXPECT_THAT(reason("(x: i8[1,2,8,8] q(0.1, 0), w: i8[4,2,3,3] q(0.1, 0)) { y: i8[1,4,6,6] q(0.1, "
                     "0) = Conv(x, w) return y }"),
              HasSubstr("its weights 'w' is computed at run time"));
  EXPECT_THAT(reason("(x: i8[1,8,2,3] q(0.1, 0)) { y: i8[1,2,4,6] q(0.1, 0) = DepthToSpace(x, "
                     "blocksize=2) return y }"),
              HasSubstr("no strides over 4 axes say where the elements of 'y' lie"));
  EXPECT_THAT(
      reason("(x: i8[N,2,8,8] q(0.1, 0)) { y: i8[N,2,8,8] q(0.1, 0) = Sigmoid(x) return y }"),
      HasSubstr("the NPU walks 1 to 4 known dims"));
  EXPECT_THAT(reason("(x: i8[1,1,4,4] q(0.1, 0), z: i8[1,3,1,1] q(0.1, 0)) { y: i8[1,3,4,4] q(0.1, "
                     "0) = Add(x, z) return y }"),
              HasSubstr("'x' and 'z' are both broadcast"));
}

}  // namespace
}  // namespace longshore::tests::place_test
