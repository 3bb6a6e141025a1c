// The compiler's way to the NPU: what the simulator computes from the program's own instructions
// must be what the reference computes from the graph, byte for byte.
#include "program/instructions/conv.hpp"
#include "npu_case.hpp"
#include "random_net.hpp"

namespace longshore::tests::lower_test {
namespace {

TEST(Lower, OneConvolution) {
  const Graph g = parse(R"((x: i8[1,2,5,5] q(0.1, 3)) {
    y: i8[1,3,5,5] q(0.05, -5) = Conv(x, i8[3,2,2,2] q([0.02, 0.03, 0.04], [0, 0, 0], axis=0)
      {1,-2,3,4, 5,6,-7,8, 9,10,11,-12, 13,14,15,16, -17,18,19,20, 21,22,23,-24},
      i32[3] q([0.002, 0.003, 0.004], [0, 0, 0], axis=0) {10, -20, 30}, pads=[1,1,0,0]) return y })");
  const Target target = load_target("rk3588-like");
  const plan::Plan p = expect_exact(g, target, 0, seed());
  EXPECT_EQ(p.layers.size(), 1u);
}

std::string names_of(const Graph& g, const std::vector<ValueId>& values) {
  std::string out;
  for (ValueId v : values) out += (out.empty() ? "" : " ") + g[v].name;
  return out;
}

// What shows elements of a value under other dims has no tap; everything else has, and equals.
TEST(Lower, AliasesOfAliases) {
  const struct {
    const char *text, *tapped, *without_bytes;
  } cases[] = {{R"((x: i8[3,2] q(0.1, 3)) {
             a: i8[3,2] q(0.05, -5) = Sigmoid(x)
             b: i8[1,3,2] q(0.05, -5) = Unsqueeze(a, i64[1]{0})
             c: i8[1,3,1] q(0.05, -5), d: i8[1,3,1] q(0.05, -5) = Split(b, axis=-1, num_outputs=2)
             y: i8[1,3,1] q(0.1, 0) = Add(c, d) return y })",
                "a b c d y", ""},
               {R"((x: i8[3,2] q(0.1, 3)) {
             a: i8[3,2] q(0.05, -5) = Sigmoid(x)
             b: i8[2,3] q(0.05, -5) = Reshape(a, i64[2]{2, 3})
             c: i8[1,3] q(0.05, -5), d: i8[1,3] q(0.05, -5) = Split(b, axis=0, num_outputs=2)
             y: i8[1,3] q(0.1, 0) = Add(c, d) return y })",
                "a b y", "c d"},
               {R"((x: i8[1,4,6,5] q(0.1, 3)) {
             a: i8[1,4,6,5] q(0.05, -5) = Sigmoid(x)
             b: i8[1,4,3,5] q(0.05, -5) = Slice(a, i64[1]{1}, i64[1]{6}, i64[1]{2}, i64[1]{2})
             c: i8[1,2,3,5] q(0.05, -5) = Slice(b, i64[1]{2}, i64[1]{4}, i64[1]{1})
             t: i8[1,5,3,2] q(0.05, -5) = Transpose(c, perm=[0,3,2,1])
             y: i8[1,5,3,2] q(0.1, 0) = Tanh(t) return y })",
                "a b c t y", ""},
               // Of what the NPU did not make there is nothing to compare.
               {R"((x: i8[1,4,6,5] q(0.1, 3)) {
             s: i8[1,2,6,5] q(0.1, 3) = Slice(x, i64[1]{2}, i64[1]{4}, i64[1]{1})
             y: i8[1,2,6,5] q(0.1, 0) = Tanh(s) return y })",
                "y", "s"}};
  for (const auto& c : cases)
    for (const char* target : {"rk3588-like", "shore-1"}) {
      const plan::Plan p = expect_exact(parse(c.text), load_target(target), 0, seed());
      const lower::Tapped tapped = lower::lower_tapped(p);
      EXPECT_EQ(names_of(p.placement.graph, tapped.values), c.tapped) << c.text;
      EXPECT_EQ(names_of(p.placement.graph, tapped.without_bytes), c.without_bytes) << c.text;
    }
}

// An operand of another rank than the result: each of its dims keeps its stride, whatever it is an
// alias of.
TEST(Lower, AliasesAsOperandsOfAnotherRank) {
  const char* parts[] = {
      "p: i8[2,3] q(0.1, 3) = Slice(v, i64[1]{-3}, i64[1]{12}, i64[1]{-1})",
      "p: i8[2,3] q(0.1, 3) = Slice(v, i64[1]{1}, i64[1]{12}, i64[1]{-1}, i64[1]{4})",
      ("s: i8[3,2] q(0.1, 3) = Slice(u, i64[1]{4}, i64[1]{6}, i64[1]{1}) "
       "p: i8[2,3] q(0.1, 3) = Transpose(s, perm=[1,0])")};
  const char* results[] = {"1,2,3", "2,2,3", "1,4,2,3"};
  const Target targets[] = {load_target("rk3588-like"), load_target("shore-1")};
  for (const char* part : parts)
    for (const std::string dims : results)
      for (const char* sum : {"Mul(m, p)", "Sub(p, m)"}) {
        const std::string text =
            "(m: i8[" + dims +
            "] q(0.1, 3), x: i8[2,12] q(0.2, 1), z: i8[3,12]"
            " q(0.2, 1)) { v: i8[2,12] q(0.1, 3) = Sigmoid(x) u: i8[3,12] q(0.1, 3) = Tanh(z) " +
            part + " y: i8[" + dims + "] q(0.3, 0) = " + sum + " return y, v, u }";
        for (const Target& target : targets) expect_exact(parse(text), target, 0, seed());
      }
}

// A Reshape, or the caller, wants the bytes of a Transpose in order: the layer before writes them
// so.
TEST(Lower, ATransposeThatIsNeededWholeIsWrittenByItsMaker) {
  const char* const rest[] = {
      "t: i8[1,6,5,4] q(0.05, 3) = Transpose(a, perm=[0,2,1,3]) "
      "y: i8[6,20] q(0.05, 3) = Reshape(t, i64[2]{6,20}) return y }",
      "t: i8[1,6,5,4] q(0.05, 3) = Transpose(a, perm=[0,2,1,3]) return t }",
      "t: i8[4,6,5,1] q(0.05, 3) = Transpose(a, perm=[3,2,1,0]) "
      "r: i8[4,30] q(0.05, 3) = Reshape(t, i64[2]{4,30}) "
      "y: i8[4,30] q(0.1, 0) = Tanh(r) return y }",
      "t: i8[5,1,4,6] q(0.05, 3) = Transpose(a, perm=[1,0,3,2]) "
      "y: i8[5,24] q(0.05, 3) = Reshape(t, i64[2]{5,24}) return y }"};
  const Target targets[] = {load_target("rk3588-like"), load_target("shore-1")};
  for (const char* made : {"(x: i8[1,5,6,4] q(0.1, 3)) { a: i8[1,5,6,4] q(0.05, 3) = Sigmoid(x) ",
                           "(p: i8[1,5,6,3] q(0.1, 3), q: i8[1,5,3,4] q(0.1, 0)) { "
                           "a: i8[1,5,6,4] q(0.05, 3) = MatMul(p, q) "})
    for (const char* then : rest)
      for (const Target& target : targets) {
        const plan::Plan p = expect_exact(parse(std::string(made) + then), target, 0, seed());
        for (const plan::Layer& l : p.layers)
          EXPECT_NE(l.head(), 1u) << then << "\n" << plan::print(p);
      }
}

// Bytes of a graph's inputs are moved as they are; what only works on i8 leaves them to the CPU.
TEST(Lower, MovesOfUnsignedCodes) {
  const Target targets[] = {load_target("rk3588-like"), load_target("shore-1")};
  for (const char* text : {R"((x: u8[1,4,6,5] q(0.1, 130), z: u8[1,4,6,5] q(0.2, 120)) {
          y: u8[1,8,6,5] q(0.2, 120) = Concat(x, z, axis=1) return y })",
                           R"((x: u8[1,4,6,5] q(0.1, 130), z: i8[1,4,6,5] q(0.1, 2)) {
          y: i8[1,8,6,5] q(0.1, 2) = Concat(x, z, axis=1) return y })",
                           R"((x: u8[1,4,6,5] q(0.1, 130), z: u8[1,4,6,5] q(0.1, 130)) {
          y: u8[1,8,6,5] q(0.1, 130) = Concat(x, z, axis=1) return y })",
                           R"((x: u8[1,4,6,5] q(0.1, 130)) {
          y: u8[1,4,8,7] q(0.1, 130) = Pad(x, i64[8]{0,0,1,1,0,0,1,1}) return y })",
                           R"((x: u8[1,4,6,5] q(0.1, 130)) {
          p: u8[1,4,8,7] q(0.1, 130) = Pad(x, i64[8]{0,0,1,1,0,0,1,1}, f32[1]{1.5})
          y: i8[1,2,8,7] q(0.1, 3) = Conv(p, i8[2,4,1,1] q(0.1, 0) {1,2,3,4,5,6,7,8}) return y })",
                           R"((x: u8[1,4,6,5] q(0.1, 130)) {
          p: u8[1,2,6,5] q(0.1, 130), r: u8[1,2,6,5] q(0.1, 130) = Split(x, i64[2]{2,2}, axis=1)
          y: i8[1,2,6,5] q(0.1, 3) = Conv(p, i8[2,2,1,1] q(0.1, 0) {1,2,3,4}) return y, r })",
                           R"((x: u8[1,4,6,5] q(0.1, 130)) {
          t: u8[1,6,4,5] q(0.1, 130) = Transpose(x, perm=[0,2,1,3])
          y: u8[6,20] q(0.1, 130) = Reshape(t, i64[2]{6,20}) return y })",
                           R"((x: u8[1,4,6,5] q(0.1, 130)) {
          y: u8[1,4,6,5] q(0.2, 100) = Relu(x) z: u8[1,4,1,1] q(0.1, 130) = GlobalAveragePool(x)
          return y, z })"})
    for (const Target& target : targets) expect_exact(parse(text), target, 0, seed());
}

// Of two results of the NPU the CPU reads one: it forgets that one's lines before, writes back the
// lines of what it wrote itself, and touches no others.
TEST(Lower, CacheStepsTakeTheLinesOfWhatTheCpuReadsAndWrites) {
  const Graph g = parse(R"((x: i8[1,3,5,10] q(0.1, 3)) {
    a: i8[1,3,5,10] q(0.05, -5) = Sigmoid(x)
    b: i8[1,3,5,10] q(0.05, -5) = Tanh(x)
    c: i8[1,3,5,10] q(0.05, -5) = Relu(a)
    y: i8[1,3,5,10] q(0.1, 0) = Add(c, b) return y })");
  for (const char* name : {"rk3588-like", "shore-1"})
    for (const std::uint32_t line : {32u, 64u, 128u}) {
      Target target = load_target(name);
      target.ops["Relu"].supported = false;
      target.machine.coherent = false;
      target.machine.cache_line_bytes = line;
      const plan::Plan plan = expect_exact(g, target, 0, seed());
      for (std::uint64_t at : plan.arena.offsets) EXPECT_EQ(at % line, 0u) << "buffers share lines";
      const Program p = lower::lower(plan);
      std::vector<Span64> cleaned, before, after;
      std::vector<std::uint32_t> written;
      bool ran = false;
      for (const Step& s : p.steps) {
        if (computes(s)) written.insert(written.end(), s.outputs.begin(), s.outputs.end());
        if (s.kind == Step::Kind::op) {
          EXPECT_EQ(s.name, "Relu");
          EXPECT_EQ(before, lines_of(p, s.inputs)) << print(p);
          ran = true;
        }
        const Span64 bytes(s.offset, s.offset + s.bytes);
        if (s.kind == Step::Kind::clean) cleaned.push_back(bytes);
        if (s.kind == Step::Kind::invalidate) (ran ? after : before).push_back(bytes);
      }
      EXPECT_TRUE(ran);
      EXPECT_EQ(written.size(), 2u);  // the copy of x, and c
      std::ranges::sort(cleaned);
      EXPECT_EQ(cleaned, lines_of(p, written)) << print(p);
      EXPECT_EQ(after, lines_of(p, p.outputs)) << print(p);
    }
}

/// Three layers in a row, the second with its residual fused.
Graph small_net() {
  return parse(R"((x: i8[1,16,12,12] q(0.1, 3)) {
    a: i8[1,16,12,12] q(0.05, -5) = Sigmoid(x)
    b: i8[1,16,12,12] q(0.05, -5) = MaxPool(a, kernel_shape=[3,3], pads=[1,1,1,1])
    c: i8[1,16,12,12] q(0.1, 1) = Add(b, x)
    d: i8[1,16,1,1] q(0.05, 2) = GlobalAveragePool(c) return d })");
}

struct Mutation {
  const char* name;
  void (*apply)(plan::Plan&);
  Refusal::Kind kind;
};

// A plan that is wrong gives a program that the verifier refuses, before anything runs.
TEST(Lower, AWrongPlanIsRefused) {
  const Mutation mutations[] = {
      {"an operand beyond the SRAM",
       [](plan::Plan& p) {
         p.tasks[0].operands[0].address = p.placement.target.machine.sram_bytes - 16;
       },
       Refusal::Kind::malformed},
      {"a result beyond the SRAM",
       [](plan::Plan& p) { p.tasks.back().results[0] = p.placement.target.machine.sram_bytes; },
       Refusal::Kind::malformed},
      {"an arena that is too small", [](plan::Plan& p) { p.arena.bytes = 64; },
       Refusal::Kind::malformed},
      {"a task left out", [](plan::Plan& p) { p.items.erase(p.items.begin()); },
       Refusal::Kind::unwritten},
      {"a task too late", [](plan::Plan& p) { std::swap(p.items.front(), p.items.back()); },
       Refusal::Kind::unwritten},
      {"an operand that nobody loaded", [](plan::Plan& p) { p.tasks[0].operands[0].filled = true; },
       Refusal::Kind::unwritten},
      {"a result that is not stored", [](plan::Plan& p) { p.tasks[0].stored = false; },
       Refusal::Kind::unwritten},
      {"a graph input that is not copied to the NPU's memory",
       [](plan::Plan& p) { p.staged_inputs.clear(); }, Refusal::Kind::unwritten},
  };
  for (const char* target : {"rk3588-like", "shore-1"}) {
    const plan::Plan good =
        plan::make_plan(place(small_net(), load_target(target), {.by_price = false}));
    ASSERT_EQ(refusals(lower::lower(good)), "");
    for (const Mutation& m : mutations) {
      plan::Plan bad = good;
      m.apply(bad);
      const std::vector<Refusal> found = verify(lower::lower(bad), 1);
      ASSERT_FALSE(found.empty()) << m.name;
      EXPECT_EQ(name(found[0].kind), std::string(name(m.kind))) << m.name << ": " << found[0].text;
    }
  }
}

// What no order can reveal shows in the bytes: slots or buffers that share memory at the same time.
TEST(Lower, AnOverlapInThePlanShowsInTheBytes) {
  const Graph g = small_net();
  const plan::Plan good = plan::make_plan(place(g, load_target("shore-1"), {.by_price = false}));
  const std::vector<Tensor> in = random_codes(g, seed()), want = evaluate(g, in);
  void (*const mutations[])(plan::Plan&) = {
      [](plan::Plan& p) {
        p.tasks[0].operands[1].address = p.tasks[0].operands[0].address;  // the table
      },
      [](plan::Plan& p) {
        for (std::uint64_t& o : p.arena.offsets) o = 0;
      },
  };
  for (const auto& apply : mutations) {
    plan::Plan bad = good;
    apply(bad);
    const Program p = lower::lower(bad);
    if (!verify(p, 1).empty()) continue;
    SimulatedGraph simulated(g, p);
    EXPECT_FALSE(simulated.run(in) == want);
  }
}

// 300 nets with LONGSHORE_FULL, which script/test --full sets; else a fifth, by the run's seed.
TEST(Lower, RandomNetsAreExactOnBothTargetsWithAnySram) {
  const char* given = std::getenv("LONGSHORE_NETS");
  const unsigned count = given                           ? static_cast<unsigned>(std::atoi(given))
                         : std::getenv("LONGSHORE_FULL") ? 300
                                                         : 60;
  const Target targets[] = {load_target("rk3588-like"), load_target("shore-1")};
  for (unsigned i = 0; i < count && !HasFailure(); i++) {
    const unsigned net = seed() * 1000 + i;
    std::mt19937 rng(net);
    Target target = targets[i % 2];
    // What this NPU lacks goes to the CPU: caches, hand-overs, row-major values.
    if (rng() % 2 == 0)
      for (const char* op : {"Conv", "Relu", "Sigmoid", "Add", "Mul", "MaxPool", "AveragePool",
                             "GlobalAveragePool", "Concat", "Slice", "Flatten", "Resize"})
        target.ops[op].supported = rng() % 4 != 0;
    target.machine.coherent = rng() % 4 == 0;
    target.machine.cache_line_bytes = 32u << rng() % 3;
    const std::uint32_t sram[] = {0, 65536, 16384, 6144, 2048};
    const std::uint32_t bytes = sram[rng() % 5];
    SCOPED_TRACE("net " + std::to_string(net) + " on " + target.name + " with SRAM " +
                 std::to_string(bytes));
    const Graph g = RandomNet(net).make();
    expect_exact(g, target, bytes, net, rng() % 4 != 0);
  }
}

}  // namespace
}  // namespace longshore::tests::lower_test
