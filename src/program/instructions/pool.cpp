#include "program/instructions/pool.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields =
    field_list(LONGSHORE_LIMITED(Pool, flag, function, 1),
               LONGSHORE_FIELD(Pool, flag, count_include_pad), LONGSHORE_TILE(Pool, in, codes),
               LONGSHORE_TILE(Pool, out, codes), LONGSHORE_FIELD(Pool, extent, in_h),
               LONGSHORE_FIELD(Pool, extent, in_w), LONGSHORE_FIELD(Pool, extent, channels),
               window_fields<Pool>, LONGSHORE_FIELD(Pool, extent, out_h),
               LONGSHORE_FIELD(Pool, extent, out_w), LONGSHORE_FIELD(Pool, scale, in_scale),
               LONGSHORE_FIELD(Pool, scale, out_scale), LONGSHORE_CODE(Pool, in_zero, in),
               LONGSHORE_CLAMP(Pool, out), LONGSHORE_LIMITED(Pool, flag, rounding, 2));

void regions(const Pool& p, Queue, Regions& out) {
  out.add(tile_region("in", p.in, p.in_h, p.in_w, p.channels));
  out.add(written(tile_region("out", p.out, p.out_h, p.out_w, p.channels)));
}

const VectorFunction& function(const Pool& p) {
  return p.function == Pool::Function::max ? vector_unit::max_pool : vector_unit::average_pool;
}

Status check(const Pool& p, const Machine& m, Queue) {
  LONGSHORE_TRY(check_clamp(p));
  LONGSHORE_TRY(check_windows(p));
  if (p.in.dtype != p.out.dtype) return refuse("in and out differ in dtype");
  if (std::uint64_t{p.out_h} * p.out_w > most_tile / p.kernel_h / p.kernel_w)
    return refuse("too much work for one instruction");
  if (p.function == Pool::Function::average && !m.rounds(static_cast<int>(p.rounding)))
    return refuse("the machine lacks this rounding mode");
  return {};
}

bool uses(const Pool& p, std::string_view f) {
  const bool max = p.function == Pool::Function::max, padded = !max && p.count_include_pad;
  if (f == "count_include_pad")
    return !max && (p.pad_top || p.pad_left || p.pad_bottom || p.pad_right);
  if (f == "pad_bottom" || f == "pad_right") return padded;
  if (max &&
      (f == "in_scale" || f == "out_scale" || f == "in_zero" || f == "out_zero" || f == "rounding"))
    return false;
  return !idle_window(f, p) && !idle_stride(f, "in", p.in_h, p.in_w) &&
         !idle_stride(f, "out", p.out_h, p.out_w);
}

}  // namespace

extern constinit const InstructionDef instruction_pool = {
    .name = "pool",
    .doc = "Maximum or average, with padding and its two ways to count.",
    .queues = {Queue::vector},
    .operands = operand_struct<Pool>(),
    .fields = fields,
    .functions = {&vector_unit::max_pool, &vector_unit::average_pool},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction max_pool{"max_pool", "per step of window elements"};
extern constinit const VectorFunction average_pool{"average_pool", "per step of window elements"};
}  // namespace longshore::vector_unit
