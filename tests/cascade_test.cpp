// Layers that hand each other stripes in SRAM: exact whatever the windows and the stripes, within
// the SRAM, and only where nobody else wants what lies between. Tiles that are shared out to cores.
#include "base/error.hpp"
#include "npu_case.hpp"
#include "program/instructions/dma.hpp"

namespace longshore::tests::cascade_test {
namespace {

/// DMAs of a node's layer in one direction.
bool moves(const Program& p, Queue queue, std::size_t node) {
  return std::ranges::any_of(p.queues[static_cast<int>(queue)], [&](const Instruction& i) {
    return i.layer == node && i.operation.is<Dma>();
  });
}

Graph weighted(std::string text, unsigned seed) {
  Graph g = parse(text);
  std::mt19937 rng(seed);
  for (Value& v : g.values)
    if (v.constant.present() && v.type.dtype == DType::i8) {
      std::vector<std::int8_t> codes(static_cast<std::size_t>(v.constant.elements()));
      for (std::int8_t& c : codes)
        c = static_cast<std::int8_t>(static_cast<int>(rng() % 255) - 127);
      v.constant = make_tensor<std::int8_t>(DType::i8, v.constant.shape, codes);
    }
  return g;
}

/// MobileNet's block: 8 channels become 48, are convolved each by itself, and become 8 again.
const char* const block = R"((x: i8[1,8,40,36] q(0.1, 3)) {
  a: i8[1,48,40,36] q(0.2, -5) = Conv(x, i8[48,8,1,1] q(0.01, 0) {1})
  b: i8[1,48,20,18] q(0.3, 4) = Conv(a, i8[48,1,3,3] q(0.02, 0) {1}, group=48, strides=[2,2], pads=[1,1,1,1])
  y: i8[1,8,20,18] q(0.5, 0) = Conv(b, i8[8,48,1,1] q(0.01, 0) {1}) return y })";

TEST(Cascade, ABlockKeepsWhatLiesBetweenInSram) {
  const Graph g = weighted(block, seed());
  const Target target = load_target("rk3588-like");
  std::size_t most_stripes = 0;
  for (const std::uint32_t sram : {0u, 98304u, 49152u}) {
    const plan::Plan p = expect_exact(g, target, sram, seed());
    ASSERT_EQ(p.cascades.size(), 1u) << plan::print(p);
    const plan::Cascade& c = p.cascades[0];
    EXPECT_GE(c.last - c.first, sram == 0 ? 2u : 1u);  // all three, where there is room
    EXPECT_LE(c.sram_bytes, p.sram_bytes);
    EXPECT_EQ(p.sram_peak(), c.sram_bytes);
    most_stripes = std::max(most_stripes, c.stripes);
    const Program program = lower::lower(p);
    EXPECT_TRUE(moves(program, Queue::dma_out, p.layers[c.last].head()));
    for (std::size_t k = c.first; k < c.last; k++)
      EXPECT_FALSE(moves(program, Queue::dma_out, p.layers[k].head()));
    const plan::Plan plain = lower::timed_plan(place(g, target, {.by_price = false}),
                                               {.sram_bytes = sram, .cascade = false});
    EXPECT_TRUE(plain.cascades.empty());
    EXPECT_LT(p.arena.bytes, plain.arena.bytes);
    EXPECT_LT(predict(program)->total_ns, predict(lower::lower(plain))->total_ns);
  }
  EXPECT_GT(most_stripes, 1u);
}

// A second reader, or the caller, needs the bytes: they are stored, and kept for the layer behind.
TEST(Cascade, WhatOthersReadIsStored) {
  std::string text = block;
  text.replace(text.find("return y"), 8, "return b, y");
  const plan::Plan p = expect_exact(weighted(text, seed()), load_target("rk3588-like"), 0, seed());
  EXPECT_TRUE(moves(lower::lower(p), Queue::dma_out, 1));
}

/// Bytes of the arena that a queue moves.
std::uint64_t arena_bytes(const Program& p, Queue queue) {
  std::uint64_t sum = 0;
  for (const Instruction& i : p.queues[static_cast<int>(queue)])
    for (const Region& r : regions_of(i))
      if (r.space == Space::arena) sum += r.bytes();
  return sum;
}
/// Where every byte costs, so that whatever saves some is chosen.
Target slow_dram() {
  Target target = load_target("rk3588-like");
  target.machine.dram_gb_per_s = 0.5;
  target.machine.layer_switch_cycles = 0;
  return target;
}
constexpr std::uint64_t image = 48 * 32 * 16;  // bytes of 16 channels below

// Both readers of `s` find it in SRAM, and it is never stored.
TEST(Cascade, CrossesAResidualBlock) {
  const plan::Plan p = expect_exact(weighted(R"((x: i8[1,16,48,32] q(0.1, 3)) {
    s: i8[1,16,48,32] q(0.2, -5) = Conv(x, i8[16,16,1,1] q(0.01, 0) {1})
    a: i8[1,16,48,32] q(0.3, 4) = Conv(s, i8[16,16,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
    b: i8[1,16,48,32] q(0.2, 1) = Conv(a, i8[16,16,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
    y: i8[1,16,48,32] q(0.5, 0) = Add(b, s) return y })",
                                             seed()),
                                    slow_dram(), 65536, seed());
  ASSERT_EQ(p.cascades.size(), 1u) << plan::print(p);
  EXPECT_EQ(p.cascades[0].last - p.cascades[0].first, 2u);
  EXPECT_GT(p.cascades[0].stripes, 1u);
  EXPECT_EQ(arena_bytes(lower::lower(p), Queue::dma_out), image);
}

// The parts are written side by side, and `x`, which is the third, is loaded beside them.
TEST(Cascade, CrossesAConcatenation) {
  const plan::Plan p = expect_exact(weighted(R"((x: i8[1,16,48,32] q(0.1, 3)) {
    s: i8[1,16,48,32] q(0.1, 3) = Conv(x, i8[16,16,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
    a: i8[1,16,48,32] q(0.1, 3) = Conv(s, i8[16,16,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
    c: i8[1,48,48,32] q(0.1, 3) = Concat(s, x, a, axis=1)
    y: i8[1,16,48,32] q(0.5, 0) = Conv(c, i8[16,48,1,1] q(0.01, 0) {1}) return y })",
                                             seed()),
                                    slow_dram(), 0, seed());
  ASSERT_EQ(p.cascades.size(), 1u) << plan::print(p);
  // `x` is copied to its place first, and stored with the whole result.
  EXPECT_LE(arena_bytes(lower::lower(p), Queue::dma_out), 2 * image);
}

// Two layers read one input: its tiles are loaded once. Without the mechanism each loads it.
TEST(Cascade, SharesAnInput) {
  const Graph g = weighted(R"((x: i8[1,64,48,32] q(0.1, 3)) {
    y: i8[1,16,48,32] q(0.5, 0) = Conv(x, i8[16,64,1,1] q(0.01, 0) {1})
    z: i8[1,16,48,32] q(0.5, 0) = Conv(x, i8[16,64,1,1] q(0.01, 0) {1}) return y, z })",
                           seed());
  const plan::Plan p = expect_exact(g, slow_dram(), 65536, seed());
  ASSERT_EQ(p.cascades.size(), 1u) << plan::print(p);
  EXPECT_EQ(arena_bytes(lower::lower(p), Queue::dma_in), 4 * image);
  const Placement placed = place(g, slow_dram(), {.by_price = false});
  const plan::Plan apart = lower::timed_plan(placed, {.sram_bytes = 65536, .horizontal = false});
  EXPECT_TRUE(apart.cascades.empty());
  EXPECT_EQ(arena_bytes(lower::lower(apart), Queue::dma_in), 8 * image);
}

// A chain has no input to share: nothing is left of it.
TEST(Cascade, ResultsAreLeftAloneWhereTurnedOff) {
  const Graph g = weighted(block, seed());
  const plan::Plan p =
      lower::timed_plan(place(g, slow_dram(), {.by_price = false}), {.cascade = false});
  EXPECT_TRUE(p.cascades.empty());
}

// The same bytes, by rows or channels on three cores, in half of the time.
TEST(Cores, ShareTheTilesOfALayer) {
  const Graph g = weighted(R"((x: i8[1,128,56,56] q(0.1, 3)) {
    a: i8[1,128,56,56] q(0.2, -5) = Conv(x, i8[128,128,3,3] q(0.001, 0) {1}, pads=[1,1,1,1])
    b: i8[1,128,28,28] q(0.2, -5) = MaxPool(a, kernel_shape=[2,2], strides=[2,2])
    c: i8[1,128,1,1] q(0.1, -5) = GlobalAveragePool(b)
    y: i8[1,512,1,1] q(0.3, 4) = Conv(c, i8[512,128,1,1] q(0.002, 0) {1}) return y })",
                           seed());
  const Target target = load_target("rk3588-3cores-like");
  const plan::Plan shared = expect_exact(g, target, 0, seed());
  std::set<int> cores;
  for (const forms::TileTask& t : shared.tasks) cores.insert(t.core);
  EXPECT_EQ(cores, (std::set<int>{0, 1, 2})) << plan::print(shared);
  const plan::Plan alone =
      lower::timed_plan(place(g, target, {.by_price = false}), {.cores = false});
  const auto npu_ns = [](const plan::Plan& p) {
    return lower::task_time(p, p.layers, p.tasks, true).total;
  };
  EXPECT_LT(npu_ns(shared), 0.5 * npu_ns(alone));
}

// Signals to three cores cost more than such a net.
TEST(Cores, AreLeftAloneWhereTheyDoNotPay) {
  const Graph g = weighted(R"((x: i8[1,8,8,8] q(0.1, 3)) {
    y: i8[1,8,8,8] q(0.2, -5) = Conv(x, i8[8,8,1,1] q(0.01, 0) {1}) return y })",
                           seed());
  const plan::Plan p =
      lower::timed_plan(place(g, load_target("rk3588-3cores-like"), {.by_price = false}));
  for (const forms::TileTask& t : p.tasks) EXPECT_EQ(t.core, 0);
}

/// Two to five nodes in a row on 4 to 24 channels.
Graph random_chain(std::mt19937& rng) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
  };
  int c = pick(4, 24), h = pick(9, 60), w = pick(5, 40);
  std::string text = str("(x: i8[1,", c, ",", h, ",", w, "] q(0.1, 3)) { ");
  std::string from = "x";
  const int count = pick(2, 5);
  for (int i = 0; i < count; i++) {
    const int kind = pick(0, 4), kh = pick(1, 5), kw = pick(1, 3), sh = pick(1, 3), sw = pick(1, 2),
              dh = pick(1, 2);
    const int top = pick(0, kh - 1), bottom = pick(0, kh - 1), left = pick(0, kw - 1);
    const int to_h = (h + top + bottom - (kh - 1) * dh - 1) / sh + 1,
              to_w = (w + left - kw) / sw + 1;
    const bool window =
        kind < 3 && h + top + bottom > (kh - 1) * dh && w + left >= kw && to_h > 1 && to_w > 0;
    const std::string windows = str("strides=[", sh, ",", sw, "], pads=[", top, ",", left, ",",
                                    bottom, ",0], dilations=[", dh, ",1]");
    const std::string name = str("v", i);
    std::string op;
    if (window && kind == 0) {
      const int to = pick(4, 24);
      op = str("Conv(", from, ", i8[", to, ",", c, ",", kh, ",", kw, "] q(0.01, 0) {1}, ", windows,
               ")");
      c = to;
    } else if (window && kind == 1) {
      op = str("Conv(", from, ", i8[", c, ",1,", kh, ",", kw, "] q(0.02, 0) {1}, group=", c, ", ",
               windows, ")");
    } else if (window) {
      op = str("MaxPool(", from, ", kernel_shape=[", kh, ",", kw, "], ", windows, ")");
    } else {
      op = kind == 3 ? str("Sigmoid(", from, ")") : str("Softmax(", from, ", axis=1)");
    }
    if (window) h = to_h, w = to_w;
    text += str(name, ": i8[1,", c, ",", h, ",", w, "] ",
                window && kind == 2 ? "q(0.1, 3)" : "q(0.05, 3)", " = ", op, " ");
    from = name;
  }
  return weighted(text + "return " + from + " }", static_cast<unsigned>(rng()));
}

TEST(Cascade, RandomChainsAreExact) {
  std::mt19937 rng(seed());
  const Target targets[] = {load_target("rk3588-like"), load_target("shore-1")};
  std::size_t cascades = 0, striped = 0;
  const int count = std::getenv("LONGSHORE_FULL") ? 400 : 60;
  for (int i = 0; i < count && !HasFailure(); i++) {
    const Graph g = random_chain(rng);
    const std::uint32_t sram[] = {0, 65536, 16384, 8192};
    // A slow DRAM, so that there is something to gain.
    Target target = targets[rng() % 2];
    target.machine.dram_gb_per_s = 0.5;
    target.machine.layer_switch_cycles = 0;
    const plan::Plan p = expect_exact(g, target, sram[rng() % 4], seed());
    for (const plan::Cascade& c : p.cascades) {
      EXPECT_LE(c.sram_bytes, p.sram_bytes);
      cascades++;
      striped += c.stripes > 1;
    }
  }
  std::cout << cascades << " cascades, " << striped << " in several stripes\n";
  EXPECT_GE(cascades, 10u);
  EXPECT_GE(striped, 2u);
}

}  // namespace
}  // namespace longshore::tests::cascade_test
