#include "sim/execute.hpp"

#include <cstring>

namespace longshore {
namespace {

struct Side {
  std::byte* data;
  std::uint64_t stride[3];
};

void move(const Side& from, const Side& to, const std::uint32_t (&count)[3], std::size_t run) {
  for (std::uint64_t i = 0; i < count[0]; i++)
    for (std::uint64_t j = 0; j < count[1]; j++) {
      const std::byte* source = from.data + i * from.stride[0] + j * from.stride[1];
      std::byte* target = to.data + i * to.stride[0] + j * to.stride[1];
      const std::uint64_t source_step = from.stride[2], target_step = to.stride[2], n = count[2];
      if (run == 1) {
        for (std::uint64_t k = 0; k < n; k++) target[k * target_step] = source[k * source_step];
      } else if (source_step == run && target_step == run) {
        std::memcpy(target, source, n * run);
      } else {
        for (std::uint64_t k = 0; k < n; k++)
          std::memcpy(target + k * target_step, source + k * source_step, run);
      }
    }
}

void dma(const Dma& d, bool store, std::byte* sram, NpuMemory& memory) {
  const Side near{sram + d.sram_address, {d.sram_stride[0], d.sram_stride[1], d.sram_stride[2]}};
  // Loads only read the far side, so that the constants stay constant.
  std::byte* base = d.dram == Dram::arena ? memory.dram().data()
                                          : const_cast<std::byte*>(memory.constants().data());
  const Side far{base + d.dram_address, {d.dram_stride[0], d.dram_stride[1], d.dram_stride[2]}};
  if (store)
    move(near, far, d.count, d.run_bytes);
  else
    move(far, near, d.count, d.run_bytes);
}

}  // namespace

Status execute(const Instruction& instruction, NpuMemory& memory, Workspace& workspace) noexcept {
  if (is_control(instruction.operation)) return {};
  LONGSHORE_TRY(memory.track(instruction));
  std::byte* sram = memory.sram(instruction.core).data();
  if (const auto* o = std::get_if<Dma>(&instruction.operation)) {
    dma(*o, instruction.queue == Queue::dma_out, sram, memory);
  } else if (const auto* o = std::get_if<Copy>(&instruction.operation)) {
    move({sram + o->from, {o->from_stride[0], o->from_stride[1], o->from_stride[2]}},
         {sram + o->to, {o->to_stride[0], o->to_stride[1], o->to_stride[2]}}, o->count,
         o->run_bytes);
  } else if (const auto* o = std::get_if<Fill>(&instruction.operation)) {
    for (std::uint64_t i = 0; i < o->count[0]; i++)
      for (std::uint64_t j = 0; j < o->count[1]; j++)
        for (std::uint64_t k = 0; k < o->count[2]; k++)
          std::memset(sram + o->address + i * o->stride[0] + j * o->stride[1] + k * o->stride[2],
                      o->value, o->run_bytes);
  } else if (const auto* o = std::get_if<Conv>(&instruction.operation)) {
    return execute_conv(*o, reinterpret_cast<std::int8_t*>(sram), workspace);
  } else {
    return execute_vector(instruction.operation, reinterpret_cast<std::int8_t*>(sram));
  }
  return {};
}

}  // namespace longshore
