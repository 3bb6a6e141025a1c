#include "program/instructions/dma.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"
#include "program/runs.hpp"

namespace longshore::instructions {
namespace {

constexpr auto fields = field_list(
    LONGSHORE_LIMITED(Dma, flag, dram, 1), LONGSHORE_FIELD(Dma, address, dram_address),
    LONGSHORE_THREE(Dma, stride, dram_stride), LONGSHORE_FIELD(Dma, address, sram_address),
    LONGSHORE_THREE(Dma, stride, sram_stride), run_fields<Dma>,
    LONGSHORE_FIELD(Dma, number, cores));

void regions(const Dma& d, Queue queue, Regions& out) {
  const bool store = queue == Queue::dma_out;
  const Region dram = runs_region(d.dram == Dram::arena ? Space::arena : Space::constants,
                                  "dram_address", d.dram_address, d.dram_stride, d);
  const Region sram = runs_region(Space::sram, "sram_address", d.sram_address, d.sram_stride, d);
  out.add(store ? sram : dram);
  if (store) return out.add(written(dram));
  if (d.cores == 0) return out.add(written(sram));
  for (std::uint8_t core = 0; core < 32; core++) {
    if ((d.cores >> core & 1) == 0) continue;
    Region each = written(sram);
    each.core = core;
    out.add(each);
  }
}

Status check(const Dma& d, const Machine& m, Queue queue) {
  if (queue == Queue::dma_out && d.dram == Dram::constants)
    return refuse("a store into the constants");
  if (d.cores != 0 && queue == Queue::dma_out) return refuse("a store out of several cores");
  if (d.cores != 0 && !m.dma_shared_loads) return refuse("no load can write into several cores");
  if (m.cores < 32 && d.cores >> m.cores != 0)
    return refuse("cores is %#x, there are %u", d.cores, m.cores);
  std::uint32_t dims = d.run_bytes > 1 ? 1 : 0;
  for (std::uint32_t count : d.count) dims += count > 1 ? 1 : 0;
  if (dims > m.dma_dims) return refuse("%u dimensions, the DMA has %u", dims, m.dma_dims);
  LONGSHORE_TRY(aligned("sram_address", d.sram_address, m.dma_alignment));
  return aligned("dram_address", d.dram_address, m.dma_alignment);
}

bool uses(const Dma& d, std::string_view field) {
  return !idle_loop(field, "dram_stride", d.count) && !idle_loop(field, "sram_stride", d.count);
}

}  // namespace

extern constinit const InstructionDef instruction_dma = {
    .name = "dma",
    .doc = "Moves runs of bytes between DRAM and SRAM, with strides on both sides.",
    .queues = {Queue::dma_in, Queue::dma_out},
    .operands = operand_struct<Dma>(),
    .fields = fields,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions
