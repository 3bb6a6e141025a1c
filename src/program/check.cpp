#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <type_traits>

#include "program/access.hpp"
#include "program/fields.hpp"

namespace longshore {
namespace {

constexpr std::uint64_t most_work = std::uint64_t{1} << 36;  // multiply-adds or window elements
constexpr std::uint64_t most_tile = std::uint64_t{1} << 26;  // elements of a padded tile
constexpr std::uint64_t most_run_bytes = std::uint64_t{1} << 31;

[[gnu::format(printf, 1, 2)]] Status refuse(const char* format, ...) {
  char text[255];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return Status::error(Code::bad_model, "%s", text);
}

bool queue_takes(Queue queue, const Operation& operation) {
  if (is_control(operation)) return true;
  if (std::holds_alternative<Dma>(operation))
    return queue == Queue::dma_in || queue == Queue::dma_out;
  if (std::holds_alternative<Conv>(operation)) return queue == Queue::mac;
  if (std::holds_alternative<Fill>(operation))
    return queue == Queue::dma_in || queue == Queue::vector;
  return queue == Queue::vector;
}

/// Ranges that follow from an operand's name and role alone.
template <class O>
Status check_fields(const O& operation) {
  Status status;
  each_field(operation, [&](const char* field, Role role, const auto& member) {
    using T = std::remove_cvref_t<decltype(member)>;
    if (!status.ok()) return;
    const std::string_view name = field;
    if constexpr (std::is_same_v<T, float>) {
      if (!(member > 0) || !std::isfinite(member))
        status = refuse("%s is %g, expected a positive finite scale", field,
                        static_cast<double>(member));
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
      if (role == Role::extent) {
        const bool pad = name.starts_with("pad_");
        const std::uint64_t most = name == "run_bytes" ? most_run_bytes : max_extent;
        if ((member == 0 && !pad) || member > most)
          status = refuse("%s is %u, expected %d..%llu", field, member, pad ? 0 : 1,
                          static_cast<unsigned long long>(most));
      }
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
      if (member < -128 || member > 127)
        status = refuse("%s is %d, expected -128..127", field, member);
    } else if constexpr (std::is_same_v<T, Rounding>) {
      if (static_cast<unsigned>(member) > 2) status = refuse("%s is not a rounding mode", field);
    }
  });
  if constexpr (requires { operation.lowest; })
    if (status.ok() && operation.lowest > operation.highest)
      status = refuse("lowest is %d, above highest %d", operation.lowest, operation.highest);
  return status;
}

template <class O>
Status check_windows(const O& o) {
  const auto fits = [](std::uint64_t out, std::uint64_t stride, std::uint64_t kernel,
                       std::uint64_t dilation, std::uint64_t in) {
    return (out - 1) * stride + (kernel - 1) * dilation + 1 <= in;
  };
  if (!fits(o.out_h, o.stride_h, o.kernel_h, o.dilation_h,
            std::uint64_t{o.pad_top} + o.in_h + o.pad_bottom))
    return refuse("the windows of %u rows do not fit into %u + %u + %u rows", o.out_h, o.pad_top,
                  o.in_h, o.pad_bottom);
  if (!fits(o.out_w, o.stride_w, o.kernel_w, o.dilation_w,
            std::uint64_t{o.pad_left} + o.in_w + o.pad_right))
    return refuse("the windows of %u columns do not fit into %u + %u + %u columns", o.out_w,
                  o.pad_left, o.in_w, o.pad_right);
  return {};
}

Status aligned(const char* operand, std::uint64_t value, std::uint32_t alignment) {
  if (alignment > 1 && value % alignment != 0)
    return refuse("misaligned: %s is %llu, not a multiple of %u", operand,
                  static_cast<unsigned long long>(value), alignment);
  return {};
}

Status check_conv(const Machine& m, const Conv& c) {
  LONGSHORE_TRY(check_windows(c));
  if (c.depthwise && c.in_c != c.out_c)
    return refuse("depthwise with %u input and %u output channels", c.in_c, c.out_c);
  if (c.depthwise && m.depthwise_lanes == 0) return refuse("the machine has no depthwise mode");
  if (m.accumulators > 0 && std::uint64_t{c.out_h} * c.out_w * c.out_c > m.accumulators)
    return refuse("%u x %u x %u outputs, the machine has %u accumulators", c.out_h, c.out_w,
                  c.out_c, m.accumulators);
  const Wide work =
      Wide{c.out_h} * c.out_w * c.out_c * c.kernel_h * c.kernel_w * (c.depthwise ? 1 : c.in_c);
  if (work > most_work) return refuse("too much work for one instruction");
  // The simulator widens the padded tile and the weights.
  const Wide padded = (Wide{c.pad_top} + c.in_h + c.pad_bottom) *
                      (Wide{c.pad_left} + c.in_w + c.pad_right) * c.in_c;
  const Wide weights = Wide{c.kernel_h} * c.kernel_w * c.in_c * (c.depthwise ? 1 : c.out_c);
  if (padded > most_tile || weights > most_tile)
    return refuse("too large a tile for one instruction");
  if (c.finish && !m.rounds(static_cast<int>(c.rounding)))
    return refuse("the machine lacks this rounding mode");
  LONGSHORE_TRY(aligned("in", c.in.address, m.mac_alignment));
  LONGSHORE_TRY(aligned("in_pixel_stride", c.in_w > 1 ? c.in.pixel_stride : 0, m.mac_alignment));
  LONGSHORE_TRY(aligned("in_row_stride", c.in_h > 1 ? c.in.row_stride : 0, m.mac_alignment));
  LONGSHORE_TRY(aligned("weights", c.weights, m.mac_alignment));
  if (c.finish) {
    LONGSHORE_TRY(aligned("parameters", c.parameters, m.mac_alignment < 4 ? 4 : m.mac_alignment));
    LONGSHORE_TRY(aligned("out", c.out.address, m.vector_alignment));
  }
  if (c.accumulate || !c.finish) {
    LONGSHORE_TRY(aligned("accumulators", c.accumulators.address, 4));
    LONGSHORE_TRY(aligned("accumulator_pixel_stride", c.accumulators.pixel_stride, 4));
    LONGSHORE_TRY(aligned("accumulator_row_stride", c.accumulators.row_stride, 4));
  }
  return {};
}

Status check_dma(const Machine& m, const Dma& d, Queue queue) {
  if (static_cast<unsigned>(d.dram) > 1) return refuse("dram is neither arena nor constants");
  if (queue == Queue::dma_out && d.dram == Dram::constants)
    return refuse("a store into the constants");
  std::uint32_t dims = d.run_bytes > 1 ? 1 : 0;
  for (std::uint32_t count : d.count) dims += count > 1 ? 1 : 0;
  if (dims > m.dma_dims) return refuse("%u dimensions, the DMA has %u", dims, m.dma_dims);
  LONGSHORE_TRY(aligned("sram_address", d.sram_address, m.dma_alignment));
  return aligned("dram_address", d.dram_address, m.dma_alignment);
}

Status check_vector(const Machine& m, const Operation& operation) {
  const auto has = [&](VectorFunction f) -> Status {
    if (m.vector_cycles[static_cast<int>(f)] > 0) return {};
    return refuse("the vector unit has no %s", name(f));
  };
  if (const auto* o = std::get_if<Eltwise>(&operation)) {
    if (static_cast<unsigned>(o->function) > 2) return refuse("no such element-wise function");
    if (o->a_channel_stride > 1 || o->b_channel_stride > 1)
      return refuse("a channel stride above 1");
    return has(o->function == Eltwise::Function::multiply ? VectorFunction::multiply
                                                          : VectorFunction::add);
  }
  if (std::holds_alternative<Table>(operation)) return has(VectorFunction::table);
  if (std::holds_alternative<Requantise>(operation)) return has(VectorFunction::requantise);
  if (std::holds_alternative<Copy>(operation)) return has(VectorFunction::copy);
  if (const auto* o = std::get_if<Pool>(&operation)) {
    if (static_cast<unsigned>(o->function) > 1) return refuse("no such pooling function");
    LONGSHORE_TRY(check_windows(*o));
    if (std::uint64_t{o->out_h} * o->out_w > most_tile / o->kernel_h / o->kernel_w)
      return refuse("too much work for one instruction");
    if (o->function == Pool::Function::max) return has(VectorFunction::max_pool);
    if (!m.rounds(static_cast<int>(o->rounding)))
      return refuse("the machine lacks this rounding mode");
    return has(VectorFunction::average_pool);
  }
  if (const auto* o = std::get_if<Reduce>(&operation)) {
    if (o->divisor == 0 || o->divisor > 1u << 24)
      return refuse("divisor is %u, expected 1..16777216", o->divisor);
    if (o->accumulate || !o->finish) LONGSHORE_TRY(aligned("accumulators", o->accumulators, 4));
    if (o->finish && !m.rounds(static_cast<int>(o->rounding)))
      return refuse("the machine lacks this rounding mode");
    return has(VectorFunction::reduce);
  }
  if (const auto* o = std::get_if<Resize>(&operation)) {
    const auto axis = [](const char* what, std::uint64_t out, std::uint64_t in,
                         std::uint64_t factor, std::uint64_t phase) -> Status {
      if (factor > 0 && (out - 1 + phase) / factor >= in)
        return refuse("%s: factor and phase lead past the %llu of the tile", what,
                      static_cast<unsigned long long>(in));
      return {};
    };
    LONGSHORE_TRY(axis("rows", o->out_h, o->in_h, o->factor_h, o->phase_h));
    LONGSHORE_TRY(axis("columns", o->out_w, o->in_w, o->factor_w, o->phase_w));
    return has(VectorFunction::resize);
  }
  return {};
}

/// Reads that may coincide with the write: element i is read before it is written.
bool in_place(const Operation& operation, const Region& read) {
  const auto same = [&](const Tile& in, const Tile& out, const char* operand) {
    return in == out && read.operand[0] == operand[0];
  };
  if (const auto* o = std::get_if<Table>(&operation)) return same(o->in, o->out, "in");
  if (const auto* o = std::get_if<Requantise>(&operation)) return same(o->in, o->out, "in");
  if (const auto* o = std::get_if<Eltwise>(&operation))
    return (o->a_channel_stride == 1 && same(o->a, o->out, "a")) ||
           (o->b_channel_stride == 1 && same(o->b, o->out, "b"));
  if (std::holds_alternative<Conv>(operation) || std::holds_alternative<Reduce>(operation))
    return read.operand[0] == 'a';  // accumulators
  return false;
}

}  // namespace

Status check(const Machine& m, const MemorySizes& sizes, const Instruction& instruction) noexcept {
  const Operation& operation = instruction.operation;
  if (static_cast<int>(instruction.queue) >= queue_count) return refuse("no such queue");
  if (instruction.core >= m.cores) return refuse("core %u of %u", instruction.core, m.cores);
  if (!queue_takes(instruction.queue, operation))
    return refuse("queue %s does not take it", name(instruction.queue));
  LONGSHORE_TRY(std::visit([](const auto& o) { return check_fields(o); }, operation));

  const auto semaphore = [&](const auto* o) -> Status {
    if (o == nullptr) return {};
    if (o->semaphore >= m.semaphores)
      return refuse("semaphore %u of %u", o->semaphore, m.semaphores);
    if (o->count == 0 || o->count > m.semaphore_limit)
      return refuse("count is %u, expected 1..%u", o->count, m.semaphore_limit);
    return {};
  };
  LONGSHORE_TRY(semaphore(std::get_if<Wait>(&operation)));
  LONGSHORE_TRY(semaphore(std::get_if<Signal>(&operation)));
  if (const auto* o = std::get_if<Conv>(&operation)) LONGSHORE_TRY(check_conv(m, *o));
  if (const auto* o = std::get_if<Dma>(&operation))
    LONGSHORE_TRY(check_dma(m, *o, instruction.queue));
  LONGSHORE_TRY(check_vector(m, operation));

  const Regions regions = regions_of(instruction);
  for (const Region& r : regions) {
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
    if (r.space == Space::sram && instruction.queue == Queue::vector)
      LONGSHORE_TRY(aligned(r.operand, r.address, m.vector_alignment));
  }
  for (const Region& read : regions)
    for (const Region& write : regions)
      if (!read.write && write.write && !in_place(operation, read) && overlap(read, write))
        return refuse("%s and %s of one instruction overlap", read.operand, write.operand);
  return {};
}

Status check(const Machine& m) noexcept {
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
  if (status.ok() && static_cast<unsigned>(m.dataflow) > 3)
    status = refuse("machine: no such dataflow");
  if (status.ok() && std::uint64_t{m.cores} * m.sram_bytes > std::uint64_t{4} << 30)
    status = Status::error(Code::exhausted, "machine: more than 4 GiB of SRAM");
  return status;
}

Status check(const Program& program) noexcept {
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
        return refuse("%s[%zu] %s: %s", name(static_cast<Queue>(q)), i, name(queue[i].operation),
                      status.text());
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
