#include "sim/costs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace longshore {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

/// Sr fill the array's rows, Sc its columns, T is time: SCALE-Sim's mapping.
struct Mapping {
  std::uint64_t rows, columns, time;
};

Mapping map(Dataflow flow, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  switch (flow) {
    case Dataflow::output_stationary:
      return {m, n, k};
    case Dataflow::input_stationary:
      return {k, m, n};
    case Dataflow::weight_stationary:
    case Dataflow::block:
      break;
  }
  return {k, n, m};
}

double systolic_overlapped(const Machine& machine, std::uint64_t m, std::uint64_t n,
                           std::uint64_t k) {
  const std::uint64_t folds =
      systolic_folds(machine.dataflow, machine.mac_rows, machine.mac_columns, m, n, k);
  const std::uint64_t time = map(machine.dataflow, m, n, k).time;
  const std::uint64_t load = machine.dataflow == Dataflow::output_stationary ? 0 : machine.mac_rows;
  // The next fold's operands load behind this one's stream; only the first load and the last drain
  // show.
  const std::uint64_t steady = std::max<std::uint64_t>(time, machine.mac_rows);
  return static_cast<double>(load + folds * steady + machine.mac_rows + machine.mac_columns - 2);
}

double block_cycles(const Machine& machine, const Conv& c) {
  const std::uint64_t pixels = std::uint64_t{c.out_h} * c.out_w;
  std::uint64_t folds_in = divide_up(c.in_c, machine.mac_rows) * c.kernel_h * c.kernel_w;
  if (machine.packs_narrow_input && c.in_c < machine.mac_rows)
    folds_in = divide_up(std::uint64_t{c.in_c} * c.kernel_w, machine.mac_rows) * c.kernel_h;
  const std::uint64_t folds = folds_in * divide_up(c.out_c, machine.mac_columns);
  const std::uint64_t most = std::max<std::uint64_t>(machine.stripe_max, 1);
  const std::uint64_t rest = pixels % most;
  const std::uint64_t stripes =
      pixels / most * most + (rest > 0 ? std::max<std::uint64_t>(rest, machine.stripe_min) : 0);
  return static_cast<double>(folds) * static_cast<double>(stripes);
}

double vector_work(const Machine& machine, const Operation& operation) {
  const auto cost = [&](VectorFunction f, std::uint64_t elements, std::uint64_t window = 1) {
    return vector_cycles(machine, f, elements, window);
  };
  if (const auto* o = std::get_if<Eltwise>(&operation))
    return cost(
        o->function == Eltwise::Function::multiply ? VectorFunction::multiply : VectorFunction::add,
        std::uint64_t{o->height} * o->width * o->channels);
  if (const auto* o = std::get_if<Table>(&operation))
    return cost(VectorFunction::table, std::uint64_t{o->height} * o->width * o->channels);
  if (const auto* o = std::get_if<Requantise>(&operation))
    return cost(VectorFunction::requantise, std::uint64_t{o->height} * o->width * o->channels);
  if (const auto* o = std::get_if<Pool>(&operation))
    return cost(o->function == Pool::Function::max ? VectorFunction::max_pool
                                                   : VectorFunction::average_pool,
                std::uint64_t{o->out_h} * o->out_w * o->channels,
                std::uint64_t{o->kernel_h} * o->kernel_w);
  if (const auto* o = std::get_if<Reduce>(&operation))
    return cost(VectorFunction::reduce, std::uint64_t{o->height} * o->width * o->channels);
  if (const auto* o = std::get_if<Resize>(&operation))
    return cost(VectorFunction::resize, std::uint64_t{o->out_h} * o->out_w * o->channels);
  if (const auto* o = std::get_if<Copy>(&operation))
    return cost(VectorFunction::copy,
                std::uint64_t{o->count[0]} * o->count[1] * o->count[2] * o->run_bytes);
  if (const auto* o = std::get_if<Fill>(&operation))
    return cost(VectorFunction::fill,
                std::uint64_t{o->count[0]} * o->count[1] * o->count[2] * o->run_bytes);
  return 0;
}

}  // namespace

std::uint64_t systolic_folds(Dataflow flow, std::uint32_t rows, std::uint32_t columns,
                             std::uint64_t m, std::uint64_t n, std::uint64_t k) noexcept {
  const Mapping s = map(flow, m, n, k);
  return divide_up(s.rows, rows) * divide_up(s.columns, columns);
}

std::uint64_t systolic_cycles(Dataflow flow, std::uint32_t rows, std::uint32_t columns,
                              std::uint64_t m, std::uint64_t n, std::uint64_t k) noexcept {
  // Per fold: load the stationary operand (R, not for output-stationary), then a skewed stream of T
  // through R rows and C columns. Cycles are counted from 0, hence the last -1.
  const std::uint64_t load = flow == Dataflow::output_stationary ? 0 : rows;
  const std::uint64_t fold = load + map(flow, m, n, k).time + rows + columns - 2;
  const std::uint64_t folds = systolic_folds(flow, rows, columns, m, n, k);
  return folds == 0 ? 0 : folds * fold - 1;
}

double conv_cycles(const Machine& machine, const Conv& c) noexcept {
  const std::uint64_t pixels = std::uint64_t{c.out_h} * c.out_w;
  double cycles = 0;
  if (c.depthwise) {
    cycles = static_cast<double>(divide_up(c.out_c, machine.depthwise_lanes)) *
             static_cast<double>(
                 divide_up(std::uint64_t{c.kernel_h} * c.kernel_w, machine.depthwise_taps)) *
             static_cast<double>(pixels);
  } else if (machine.dataflow == Dataflow::block) {
    cycles = block_cycles(machine, c);
  } else {
    const std::uint64_t k = std::uint64_t{c.kernel_h} * c.kernel_w * c.in_c;
    cycles = machine.overlaps_folds
                 ? systolic_overlapped(machine, pixels, c.out_c, k)
                 : static_cast<double>(systolic_cycles(machine.dataflow, machine.mac_rows,
                                                       machine.mac_columns, pixels, c.out_c, k));
  }
  const double drain =
      machine.drain_elements_per_cycle > 0
          ? static_cast<double>(pixels * c.out_c) / machine.drain_elements_per_cycle
          : 0;
  return machine.mac_setup_cycles + std::max(cycles, drain);
}

double vector_cycles(const Machine& machine, VectorFunction function, std::uint64_t elements,
                     std::uint64_t window) noexcept {
  const std::uint64_t steps = divide_up(elements, machine.vector_lanes);
  return machine.vector_setup_cycles + static_cast<double>(steps) * static_cast<double>(window) *
                                           machine.vector_cycles[static_cast<int>(function)];
}

double compute_cycles(const Machine& machine, const Operation& operation) noexcept {
  if (const auto* c = std::get_if<Conv>(&operation)) return conv_cycles(machine, *c);
  return vector_work(machine, operation);
}

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
    cost.dram_bytes = divide_up(dma.dram_address + run - begin, burst) * burst;
  } else {
    // Bursts that a run touches, on average over its possible starts (multiples of grain).
    cost.dram_bytes = dram_runs * (divide_up(run, grain) * grain + burst - grain);
  }

  const double ns_per_cycle = 1e3 / machine.clock_mhz;
  const double latency = std::max(machine.dram_latency_ns, 0.0);
  cost.setup_ns = machine.dma_setup_cycles * ns_per_cycle + latency;
  double rate = machine.dma_bytes_per_cycle / ns_per_cycle;
  if (latency > 0)  // Little's law: bytes in flight / latency
    rate = std::min(
        rate, static_cast<double>(machine.dma_outstanding) * static_cast<double>(burst) / latency);
  // The SRAM takes one word per cycle; a scattered byte costs a word.
  const std::uint64_t word = std::max(machine.sram_word_bytes, 1u);
  const std::uint64_t pieces = joint == 0 ? 0 : cost.bytes / joint;
  const double sram_cycles =
      static_cast<double>(pieces) * static_cast<double>(divide_up(joint, word));
  if (sram_cycles > 0)
    rate = std::min(rate, static_cast<double>(cost.dram_bytes) / (sram_cycles * ns_per_cycle));
  cost.bytes_per_ns = rate;
  const double efficiency = write ? machine.dram_write_efficiency : machine.dram_read_efficiency;
  cost.dram_share = efficiency > 0 ? 1 / efficiency : 1;
  return cost;
}

double dma_ns(const Machine& machine, const Dma& dma, bool write) noexcept {
  const DmaCost cost = dma_cost(machine, dma, write);
  const double rate = std::min(cost.bytes_per_ns, machine.dram_gb_per_s / cost.dram_share);
  return cost.setup_ns + (rate > 0 ? static_cast<double>(cost.dram_bytes) / rate : 0);
}

double alone_ns(const Machine& machine, const Instruction& instruction) noexcept {
  const Operation& operation = instruction.operation;
  if (is_control(operation)) return 0;
  const double dispatch = machine.cycles_to_ns(machine.dispatch_cycles);
  if (const auto* dma = std::get_if<Dma>(&operation))
    return dispatch + dma_ns(machine, *dma, instruction.queue == Queue::dma_out);
  return dispatch + machine.cycles_to_ns(compute_cycles(machine, operation));
}

double cache_op_ns(const Machine& machine, std::uint64_t bytes) noexcept {
  return machine.cache_op_us * 1e3 +
         (machine.cache_gb_per_s > 0 ? static_cast<double>(bytes) / machine.cache_gb_per_s : 0);
}

double energy_nj(const Machine& machine, const Instruction& instruction) noexcept {
  const Regions regions = regions_of(instruction);
  double pj = static_cast<double>(macs(instruction.operation)) * machine.mac_pj;
  for (const Region& region : regions) {
    const double bytes = static_cast<double>(region.bytes());
    pj += bytes * (region.space == Space::sram ? machine.sram_byte_pj : machine.dram_byte_pj);
    if (instruction.queue == Queue::vector && region.write) pj += bytes * machine.vector_element_pj;
  }
  return pj * 1e-3;
}

}  // namespace longshore
