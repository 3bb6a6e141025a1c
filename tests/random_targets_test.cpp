// Random nets on random machines: whatever an NPU's sizes, alignments, dataflow and missing
// functions are, the verifier passes the program, every byte is the reference's, and no plan
// exceeds its memory.
//   LONGSHORE_FULL=1  1,000 nets instead of 60; sanitizers take 12
#include "base/sanitizer.hpp"
#include "lower/lower.hpp"
#include "npu_case.hpp"
#include "program/instructions/dma.hpp"
#include "random_net.hpp"

namespace longshore::tests::random_targets_test {
namespace {

Target random_target(std::mt19937& rng, const Target& from) {
  const auto among = [&](auto... values) {
    const std::uint32_t all[] = {static_cast<std::uint32_t>(values)...};
    return all[rng() % std::size(all)];
  };
  Target t = from;
  Machine& m = t.machine;
  m.cores = among(1, 1, 2, 3, 4);
  m.semaphores = 256;  // one for each pair of engines
  m.dataflow = Dataflow(rng() % 5);
  m.mac_rows = among(1, 4, 8, 16, 32, 64), m.mac_columns = among(1, 4, 8, 16, 32, 64);
  m.packs_narrow_input = rng() % 2, m.overlaps_folds = rng() % 2;
  m.input_grain = among(0, 1, m.mac_rows), m.output_grain = among(0, 1, m.mac_columns);
  m.winograd = rng() % 3 == 0;
  m.mac_i16_rate = 0.5 * among(0, 1, 1, 2), m.mac_i16_weights_rate = 0.25 * among(0, 1, 2);
  m.stripe_min = among(1, 16), m.stripe_max = among(32, 65536);
  m.micro_width = among(1, 2, 3), m.micro_height = among(1, 2), m.step_cycles = among(1, 4);
  m.depthwise_lanes = among(0, 1, 8, 48, 128), m.depthwise_taps = among(1, 4, 9);
  m.accumulators = among(0, 0, 256, 1024, 8192);
  m.sram_bytes = among(6144, 16384, 65536, 262144, 1048576);
  m.sram_banks = among(1, 4, 12), m.sram_word_bytes = among(4, 16, 64);
  m.mac_alignment = among(1, 4, 16, 64), m.vector_alignment = among(1, 4, 16);
  m.dma_shared_loads = rng() % 2;
  m.dma_burst_bytes = among(16, 64, 128), m.dma_depth = among(1, 2, 4),
  m.dma_dims = among(1, 2, 3, 4);
  m.dram_gb_per_s = 0.25 * among(1, 4, 40, 200);
  m.constants_gb_per_s = 0.25 * among(0, 0, 1, 8), m.constants_latency_ns = among(0, 300);
  m.vector_lanes = among(1, 8, 16, 64);
  m.layer_switch_cycles = among(0, 2000);
  for (double& cycles : m.vector_cycles) cycles = rng() % 12 == 0 ? 0 : 0.5 * among(1, 2, 9);
  m.coherent = rng() % 3 == 0;
  m.cache_line_bytes = among(32, 64, 128);
  return t;
}

/// The slots of a layer lie side by side: no byte twice, and none between them that is nobody's.
void expect_slots_side_by_side(const plan::Layer& l) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces;  // address, bytes
  const auto take = [&](const plan::Slots& s) {
    for (std::uint32_t a : s.addresses)
      if (s.bytes > 0) pieces.emplace_back(a, s.bytes);
  };
  for (const plan::Stage& s : l.stages) {
    for (const plan::StageOperand& o : s.operands) take(o.slots);
    take(s.result);
  }
  take(l.accumulators);
  std::ranges::sort(pieces);
  for (std::size_t i = 1; i < pieces.size(); i++)
    EXPECT_EQ(pieces[i].first, pieces[i - 1].first + pieces[i - 1].second);
}

TEST(RandomTargets, RunRandomNetsExactlyWithinTheirMemory) {
  const Target from = load_target("shore-1");
  const unsigned count = std::getenv("LONGSHORE_FULL") ? 1000 : address_sanitizer ? 12 : 60;
  std::size_t on_npu = 0, nodes = 0, cascades = 0, wide = 0, shared = 0;
  for (unsigned i = 0; i < count && !HasFailure(); i++) {
    const unsigned number = seed() * 1000 + i;
    std::mt19937 rng(number);
    const Target target = random_target(rng, from);
    const bool bytes = i % 4 == 0;
    Graph g = RandomNet(number, bytes).make();
    if (i % 4 == 1) g = widened(std::move(g)), wide++;
    SCOPED_TRACE("net " + std::to_string(number) + "\n" + print(target) + print(g));
    const plan::Plan p = expect_exact(g, target, 0, number);
    EXPECT_LE(p.sram_peak(), target.machine.sram_bytes);
    for (const plan::Layer& l : p.layers) expect_slots_side_by_side(l);
    for (const NodePlacement& n : p.placement.nodes) on_npu += n.on_npu();
    nodes += g.nodes.size(), cascades += p.cascades.size();
    for (const Instruction& load : lower::lower(p).queues[static_cast<int>(Queue::dma_in)])
      if (const Dma* d = load.operation.get_if<Dma>()) shared += d->cores != 0;
  }
  std::cout << on_npu << " of " << nodes << " nodes on NPUs, " << cascades << " cascades, " << wide
            << " nets of 16-bit codes, " << shared << " loads for several cores\n";
  EXPECT_GT(on_npu, nodes / 3);
  EXPECT_GE(cascades, count / 20);
  EXPECT_EQ(wide, (count + 2) / 4);
  EXPECT_GE(shared, count / 20);
}

}  // namespace
}  // namespace longshore::tests::random_targets_test
