#include "sim/costs.hpp"

#include <algorithm>

#include "sim/execution.hpp"

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
    case Dataflow::micro_block:
      break;
  }
  return {k, n, m};
}

}  // namespace

std::uint64_t systolic_folds(Dataflow flow, std::uint32_t rows, std::uint32_t columns,
                             std::uint64_t m, std::uint64_t n, std::uint64_t k) noexcept {
  const Mapping s = map(flow, m, n, k);
  return divide_up(s.rows, rows) * divide_up(s.columns, columns);
}

double systolic_overlapped(const Machine& machine, std::uint64_t m, std::uint64_t n,
                           std::uint64_t k) noexcept {
  const std::uint64_t folds =
      systolic_folds(machine.dataflow, machine.mac_rows, machine.mac_columns, m, n, k);
  const std::uint64_t time = map(machine.dataflow, m, n, k).time;
  const std::uint64_t load = machine.dataflow == Dataflow::output_stationary ? 0 : machine.mac_rows;
  // The next fold's operands load behind this one's stream; only the first load and the last drain
  // show.
  const std::uint64_t steady = std::max<std::uint64_t>(time, machine.mac_rows);
  return static_cast<double>(load + folds * steady + machine.mac_rows + machine.mac_columns - 2);
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

double vector_cycles(const Machine& machine, const VectorFunction& function, std::uint64_t elements,
                     std::uint64_t window) noexcept {
  const std::uint64_t steps = divide_up(elements, machine.vector_lanes);
  return machine.vector_setup_cycles +
         static_cast<double>(steps) * static_cast<double>(window) * machine.cycles_of(function);
}

double compute_cycles(const Machine& machine, const Operation& operation) noexcept {
  const ExecutionDef* def = execution_of(operation);
  return def && def->cycles ? def->cycles(operation.operands(), machine) : 0;
}

std::optional<DmaCost> transfer_cost(const Machine& machine,
                                     const Instruction& instruction) noexcept {
  const ExecutionDef* def = execution_of(instruction.operation);
  if (def == nullptr || def->transfer == nullptr) return {};
  return def->transfer(instruction.operation.operands(), machine,
                       instruction.queue == Queue::dma_out);
}

double transfer_ns(const Machine& machine, const DmaCost& cost) noexcept {
  const double rate = std::min(cost.bytes_per_ns, cost.server_gb_per_s(machine) / cost.dram_share);
  return cost.setup_ns + (rate > 0 ? static_cast<double>(cost.dram_bytes) / rate : 0);
}

double dma_ns(const Machine& machine, const Dma& dma, bool write) noexcept {
  return transfer_ns(machine, dma_cost(machine, dma, write));
}

double alone_ns(const Machine& machine, const Instruction& instruction) noexcept {
  const Operation& operation = instruction.operation;
  if (is_control(operation)) return 0;
  const double dispatch = machine.cycles_to_ns(machine.dispatch_cycles);
  if (const std::optional<DmaCost> transfer = transfer_cost(machine, instruction))
    return dispatch + transfer_ns(machine, *transfer);
  return dispatch + machine.cycles_to_ns(compute_cycles(machine, operation));
}

double cache_op_ns(const Machine& machine, std::uint64_t bytes) noexcept {
  return machine.cache_op_us * 1e3 +
         (machine.cache_gb_per_s > 0 ? static_cast<double>(bytes) / machine.cache_gb_per_s : 0);
}

double energy_nj(const Machine& machine, const Instruction& instruction) noexcept {
  const Regions regions = regions_of(instruction);
  double pj = static_cast<double>(macs(instruction.operation)) * machine.mac_pj;
  // A wider product takes as many passes as its rate says, each of which costs as much.
  if (const Conv* c = instruction.operation.get_if<Conv>())
    if (const double rate = machine.mac_rate(c->in.dtype, c->weight_dtype); rate > 0) pj /= rate;
  for (const Region& region : regions) {
    const double bytes = static_cast<double>(region.bytes());
    pj += bytes * (region.space == Space::sram ? machine.sram_byte_pj : machine.dram_byte_pj);
    if (instruction.queue == Queue::vector && region.write) pj += bytes * machine.vector_element_pj;
  }
  return pj * 1e-3;
}

}  // namespace longshore
