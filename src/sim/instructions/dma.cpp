#include "program/instructions/dma.hpp"

#include <algorithm>
#include <numeric>

#include "sim/execution.hpp"
#include "sim/runs.hpp"

namespace longshore {
namespace executions {
namespace {

Status execute(const Dma& d, Execution& on) {
  const auto near = [&](std::byte* sram) {
    return RunSide{sram + d.sram_address, {d.sram_stride[0], d.sram_stride[1], d.sram_stride[2]}};
  };
  // Loads only read the far side, so that the constants stay constant.
  std::byte* base = d.dram == Dram::arena ? on.memory.dram().data()
                                          : const_cast<std::byte*>(on.memory.constants().data());
  const RunSide far{base + d.dram_address, {d.dram_stride[0], d.dram_stride[1], d.dram_stride[2]}};
  const auto load = [&](std::byte* sram) { move_runs(far, near(sram), d.count, d.run_bytes); };
  if (on.queue == Queue::dma_out)
    move_runs(near(on.sram), far, d.count, d.run_bytes);
  else if (d.cores == 0)
    load(on.sram);
  for (int core = 0; core < 32; core++)
    if ((d.cores >> core & 1) != 0) load(on.memory.sram(core).data());
  return {};
}

DmaCost transfer(const Dma& d, const Machine& m, bool write) { return dma_cost(m, d, write); }

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

}  // namespace

extern constinit const ExecutionDef execution_dma = {
    .instruction = &Dma::def,
    .transfer = erased<transfer>,
    .execute = erased<execute>,
};

}  // namespace executions

DmaCost dma_cost(const Machine& machine, const Dma& dma, bool write) noexcept {
  DmaCost cost;
  std::uint64_t runs = 1, joint = dma.run_bytes;
  struct Loop {
    std::uint64_t count, dram, sram;
  };
  Loop loops[3];
  int n = 0;
  for (int i = 0; i < 3; i++) {
    runs *= dma.count[i];
    if (dma.count[i] <= 1) continue;
    int at = n++;  // by ascending DRAM stride
    for (; at > 0 && loops[at - 1].dram > dma.dram_stride[i]; at--) loops[at] = loops[at - 1];
    loops[at] = {dma.count[i], dma.dram_stride[i], dma.sram_stride[i]};
  }
  cost.bytes = runs * dma.run_bytes;

  // The channel walks the DRAM in address order, so neighbouring runs there are one burst train.
  std::uint64_t run = dma.run_bytes, dram_runs = runs;
  std::uint64_t grain =
      std::gcd<std::uint64_t>(std::max(machine.dma_burst_bytes, 1u), dma.dram_address);
  bool dense = true, jointly = true;
  for (int i = 0; i < n; i++) {
    if (dense && loops[i].dram == run) {
      if (jointly && loops[i].sram == joint)
        joint *= loops[i].count;
      else
        jointly = false;
      run *= loops[i].count;
      dram_runs /= loops[i].count;
    } else {
      dense = jointly = false;
      grain = std::gcd(grain, loops[i].dram);
    }
  }
  const std::uint64_t burst = std::max(machine.dma_burst_bytes, 1u);
  if (dram_runs == 1) {
    const std::uint64_t begin = dma.dram_address / burst * burst;
    cost.dram_bytes = executions::divide_up(dma.dram_address + run - begin, burst) * burst;
  } else {
    // Bursts that a run touches, on average over its possible starts (multiples of grain).
    cost.dram_bytes = dram_runs * (executions::divide_up(run, grain) * grain + burst - grain);
  }

  const double ns_per_cycle = 1e3 / machine.clock_mhz;
  cost.constants = dma.dram == Dram::constants && machine.constants_gb_per_s > 0;
  const double latency =
      std::max(cost.constants ? machine.constants_latency_ns : machine.dram_latency_ns, 0.0);
  cost.setup_ns = machine.dma_setup_cycles * ns_per_cycle + latency;
  double rate = machine.dma_bytes_per_cycle / ns_per_cycle;
  if (latency > 0)  // Little's law: bytes in flight / latency
    rate = std::min(
        rate, static_cast<double>(machine.dma_outstanding) * static_cast<double>(burst) / latency);
  // The SRAM takes one word per cycle; a scattered byte costs a word.
  const std::uint64_t word = std::max(machine.sram_word_bytes, 1u);
  const std::uint64_t pieces = joint == 0 ? 0 : cost.bytes / joint;
  const double sram_cycles =
      static_cast<double>(pieces) * static_cast<double>(executions::divide_up(joint, word));
  if (sram_cycles > 0)
    rate = std::min(rate, static_cast<double>(cost.dram_bytes) / (sram_cycles * ns_per_cycle));
  cost.bytes_per_ns = rate;
  const double efficiency = write ? machine.dram_write_efficiency : machine.dram_read_efficiency;
  cost.dram_share = efficiency > 0 && !cost.constants ? 1 / efficiency : 1;
  return cost;
}

}  // namespace longshore
