#include "program/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <type_traits>

#include "program/access.hpp"
#include "program/instruction_def.hpp"
#include "program/print.hpp"
#include "tensor/quant.hpp"

namespace longshore {
namespace {

/// What the field's role and dtype allow.
Status check_field(const Machine& m, const Field& field, const void* operands) {
  return visit_field(field, operands, [&]<class T>(const T& member) -> Status {
    if constexpr (std::is_same_v<T, float>) {
      if (field.role == Role::scale && (!(member > 0) || !std::isfinite(member)))
        return refuse("%s is %g, expected a positive finite scale", field.name,
                      static_cast<double>(member));
    } else if constexpr (!std::is_same_v<T, std::uint64_t>) {
      const auto value = static_cast<std::int64_t>(member);
      if (field.role == Role::dtype) {
        const DType dtype = value < dtype_count ? DType(value) : DType::undefined;
        const char* why = !field.types.has(dtype) ? "which the instruction does not take"
                          : !m.dtypes.has(dtype)  ? "which the machine does not have"
                                                  : nullptr;
        if (why != nullptr)
          return refuse("%s is %.*s, %s", field.name, static_cast<int>(name(dtype).size()),
                        name(dtype).data(), why);
      }
      std::int64_t lowest = field.lowest, highest = field.highest;
      if (field.role == Role::code) {
        const CodeRange range = code_range(static_cast<const DType*>(operands)[field.dtype_at]);
        lowest = range.lowest, highest = range.highest;
      }
      if (value < lowest || value > highest)
        return refuse("%s is %lld, expected %lld..%lld", field.name, static_cast<long long>(value),
                      static_cast<long long>(lowest), static_cast<long long>(highest));
    }
    return {};
  });
}

Status check_operands(const Machine& m, const Instruction& instruction) {
  const Operation& operation = instruction.operation;
  const InstructionDef& def = operation.def();
  for (const Field& field : def.fields) LONGSHORE_TRY(check_field(m, field, operation.operands()));
  if (def.function && instruction.queue == Queue::vector) {
    const VectorFunction& function = def.function(operation.operands());
    if (!(m.cycles_of(function) > 0)) return refuse("the vector unit has no %s", function.name);
  }
  return def.check ? def.check(operation.operands(), m, instruction.queue) : Status();
}

Status check_region(const Machine& m, const MemorySizes& sizes, Queue queue, const Region& r) {
  const std::uint64_t size = r.space == Space::sram    ? m.sram_bytes
                             : r.space == Space::arena ? sizes.arena
                                                       : sizes.constants;
  if (r.end() > size)
    return refuse("overflow: %s reaches byte %llu of %s, which has %llu", r.operand,
                  static_cast<unsigned long long>(r.end()), name(r.space),
                  static_cast<unsigned long long>(size));
  // Runs that interleave with themselves could be far more than bytes: nothing lays tiles out so.
  const Region merged = r.merged();
  if (Wide{merged.count[0]} * merged.count[1] * merged.count[2] * merged.run > size)
    return refuse("%s: the strides make runs overlap many times", r.operand);
  if (r.write && !r.disjoint_runs())
    return refuse("%s: the strides make written runs overlap", r.operand);
  LONGSHORE_TRY(aligned(r.operand, r.address, r.element));
  for (int i = 0; i < 3; i++)
    if (r.count[i] > 1 && r.stride[i] % r.element != 0)
      return refuse("misaligned: a stride of %s is %llu, not a multiple of %u", r.operand,
                    static_cast<unsigned long long>(r.stride[i]), r.element);
  if (r.space == Space::sram && queue == Queue::vector)
    return aligned(r.operand, r.address, m.vector_alignment);
  return {};
}

}  // namespace

Status refuse(const char* format, ...) noexcept {
  char text[255];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return Status::error(Code::bad_model, "%s", text);
}

Status aligned(const char* operand, std::uint64_t value, std::uint32_t alignment) noexcept {
  if (alignment > 1 && value % alignment != 0)
    return refuse("misaligned: %s is %llu, not a multiple of %u", operand,
                  static_cast<unsigned long long>(value), alignment);
  return {};
}

Status check_semaphore(std::uint32_t semaphore, std::uint32_t count, const Machine& m) noexcept {
  if (semaphore >= m.semaphores) return refuse("semaphore %u of %u", semaphore, m.semaphores);
  if (count == 0 || count > m.semaphore_limit)
    return refuse("count is %u, expected 1..%u", count, m.semaphore_limit);
  return {};
}

Status check_windows_of(const char* what, std::uint64_t out, std::uint64_t stride,
                        std::uint64_t kernel, std::uint64_t dilation, std::uint64_t before,
                        std::uint64_t in, std::uint64_t after) noexcept {
  if ((out - 1) * stride + (kernel - 1) * dilation + 1 <= before + in + after) return {};
  const auto n = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
  return refuse("the windows of %llu %s do not fit into %llu + %llu + %llu %s", n(out), what,
                n(before), n(in), n(after), what);
}

Status check(const Machine& m, const MemorySizes& sizes, const Instruction& instruction) noexcept {
  const Operation& operation = instruction.operation;
  if (static_cast<int>(instruction.queue) >= queue_count) return refuse("no such queue");
  if (instruction.core >= m.cores) return refuse("core %u of %u", instruction.core, m.cores);
  const List<Queue, 4>& queues = operation.def().queues;
  if (std::find(queues.begin(), queues.end(), instruction.queue) == queues.end())
    return refuse("queue %s does not take it", name(instruction.queue));
  LONGSHORE_TRY(check_operands(m, instruction));
  const Regions regions = regions_of(instruction);
  if (regions.overflow) return refuse("more than %d regions", Regions::capacity);
  for (const Region& r : regions) LONGSHORE_TRY(check_region(m, sizes, instruction.queue, r));
  for (const Region& read : regions)
    for (const Region& write : regions)
      if (!read.write && write.write && !read.in_place && overlap(read, write))
        return refuse("%s and %s of one instruction overlap", read.operand, write.operand);
  return {};
}

Status check(const Machine& m) {
  if (!m.present) return {};
  Status status;
  Machine::each(m, [&](const char* section, const char* key, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, double>)
      if (status.ok() && (!(member >= 0) || member > 1e12))
        status = refuse("machine: %s.%s is %g, expected 0..1e12", section, key, member);
  });
  const auto positive = [&](const char* what, double value, double most) {
    if (status.ok() && (!(value > 0) || value > most))
      status = refuse("machine: %s is %g, expected above 0 and up to %g", what, value, most);
  };
  positive("cores.count", m.cores, 64);
  positive("clock.mhz", m.clock_mhz, 1e5);
  positive("mac.rows", m.mac_rows, 65536);
  positive("mac.columns", m.mac_columns, 65536);
  positive("mac.micro_width", m.micro_width, 256);
  positive("mac.micro_height", m.micro_height, 256);
  positive("mac.step_cycles", m.step_cycles, 256);
  positive("sram.bytes", m.sram_bytes, 1 << 30);
  positive("sram.word_bytes", m.sram_word_bytes, 65536);
  positive("vector.lanes", m.vector_lanes, 65536);
  positive("dma.bytes_per_cycle", m.dma_bytes_per_cycle, 1e6);
  positive("dma.burst_bytes", m.dma_burst_bytes, 1 << 20);
  positive("dma.outstanding", m.dma_outstanding, 1 << 20);
  positive("dram.gb_per_s", m.dram_gb_per_s, 1e6);
  positive("dram.read_efficiency", m.dram_read_efficiency, 1);
  positive("dram.write_efficiency", m.dram_write_efficiency, 1);
  positive("cache.line_bytes", m.cache_line_bytes, 4096);
  positive("control.semaphores", m.semaphores, 1 << 20);
  if (m.depthwise_lanes > 0) positive("mac.depthwise_taps", m.depthwise_taps, 65536);
  if (status.ok() && static_cast<unsigned>(m.dataflow) > 4)
    status = refuse("machine: no such dataflow");
  if (status.ok() && std::uint64_t{m.cores} * m.sram_bytes > std::uint64_t{4} << 30)
    status = Status::error(Code::exhausted, "machine: more than 4 GiB of SRAM");
  return status;
}

Status check(const Program& program) {
  const Machine& m = program.machine;
  LONGSHORE_TRY(check(m));
  if (program.arena_bytes > std::uint64_t{64} << 30)
    return Status::error(Code::exhausted, "an arena of more than 64 GiB");
  const MemorySizes sizes{program.arena_bytes, program.constants ? program.constants->size() : 0};
  for (int q = 0; q < queue_count; q++) {
    const auto& queue = program.queues[q];
    if (!m.present && !queue.empty())
      return refuse("instructions for an NPU, but the machine has none");
    for (std::size_t i = 0; i < queue.size(); i++) {
      Status status = check(m, sizes, queue[i]);
      if (status.ok() && static_cast<int>(queue[i].queue) != q)
        status = refuse("an instruction for queue %s", name(queue[i].queue));
      if (status.ok() && queue[i].layer != no_index && queue[i].layer >= program.layers.size())
        status = refuse("layer %u of %zu", queue[i].layer, program.layers.size());
      if (!status.ok())
        return refuse("%s[%zu] %s: %s", queue_name(m, queue[i].core, static_cast<Queue>(q)).c_str(),
                      i, name(queue[i].operation), status.text());
    }
  }
  for (std::size_t i = 0; i < program.steps.size(); i++) {
    const Step& step = program.steps[i];
    const bool semaphore = step.kind == Step::Kind::wait || step.kind == Step::Kind::signal;
    if (semaphore && step.semaphore >= m.semaphores)
      return refuse("cpu[%zu]: semaphore %u of %u", i, step.semaphore, m.semaphores);
    if (step.kind == Step::Kind::clean || step.kind == Step::Kind::invalidate) {
      if (step.offset > sizes.arena || step.bytes > sizes.arena - step.offset)
        return refuse("cpu[%zu]: overflow: cache range %llu+%llu, the arena has %llu", i,
                      static_cast<unsigned long long>(step.offset),
                      static_cast<unsigned long long>(step.bytes),
                      static_cast<unsigned long long>(sizes.arena));
      const std::uint32_t line = m.cache_line_bytes;
      const bool whole =
          step.bytes % (line ? line : 1) == 0 || step.offset + step.bytes == sizes.arena;
      if (line > 1 && (step.offset % line != 0 || !whole))
        return refuse("cpu[%zu]: misaligned: cache range %llu+%llu is not whole lines of %u", i,
                      static_cast<unsigned long long>(step.offset),
                      static_cast<unsigned long long>(step.bytes), line);
    }
    if (step.layer != no_index && step.layer >= program.layers.size())
      return refuse("cpu[%zu]: layer %u of %zu", i, step.layer, program.layers.size());
    for (const auto* list : {&step.inputs, &step.outputs})
      for (std::uint32_t v : *list)
        if (v != no_index && v >= program.values.size())
          return refuse("cpu[%zu]: value %u of %zu", i, v, program.values.size());
  }
  for (const ProgramValue& v : program.values) {
    if (!v.fixed_shape || (v.storage != Storage::arena && v.storage != Storage::constant)) continue;
    const std::uint64_t size = v.storage == Storage::arena ? sizes.arena
                               : v.constant                ? v.constant->size()
                                                           : sizes.constants;
    Wide bytes = size_bytes(v.dtype);
    for (int i = 0; i < v.shape.rank; i++) {
      if (v.shape[i] < 0) return refuse("value %.60s: a negative dimension", v.name.c_str());
      bytes *= static_cast<std::uint64_t>(v.shape[i]);
      if (bytes > size) break;
    }
    if (bytes > size || v.offset > size - static_cast<std::uint64_t>(bytes))
      return refuse("overflow: value %.60s at %llu leaves its %llu bytes", v.name.c_str(),
                    static_cast<unsigned long long>(v.offset),
                    static_cast<unsigned long long>(size));
  }
  return {};
}

}  // namespace longshore
