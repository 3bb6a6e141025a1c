#include "program/instructions/reduce.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields =
    field_list(LONGSHORE_FIELD(Reduce, flag, accumulate), LONGSHORE_FIELD(Reduce, flag, finish),
               LONGSHORE_TILE(Reduce, in, codes), LONGSHORE_FIELD(Reduce, extent, height),
               LONGSHORE_FIELD(Reduce, extent, width), LONGSHORE_FIELD(Reduce, extent, channels),
               LONGSHORE_CODE(Reduce, in_zero, in), LONGSHORE_FIELD(Reduce, address, accumulators),
               LONGSHORE_FIELD(Reduce, address, out), LONGSHORE_FIELD(Reduce, number, divisor),
               LONGSHORE_FIELD(Reduce, scale, in_scale), LONGSHORE_FIELD(Reduce, scale, out_scale),
               LONGSHORE_CLAMP(Reduce, in),  // the output has the input's dtype
               LONGSHORE_LIMITED(Reduce, flag, rounding, 2));

void regions(const Reduce& r, Queue, Regions& out) {
  out.add(tile_region("in", r.in, r.height, r.width, r.channels));
  const DType sum = r.in.dtype == DType::i16 ? DType::i64 : DType::i32;
  const Region sums = tile_region("accumulators", {r.accumulators, 0, 0, sum}, 1, 1, r.channels);
  if (r.accumulate) out.add(in_place(sums));
  if (r.finish)
    out.add(written(tile_region("out", {r.out, 0, 0, r.in.dtype}, 1, 1, r.channels)));
  else
    out.add(written(sums));
}

const VectorFunction& function(const Reduce&) { return vector_unit::reduce; }

Status check(const Reduce& r, const Machine& m, Queue) {
  LONGSHORE_TRY(check_clamp(r));
  if (r.divisor == 0 || r.divisor > 1u << 24)
    return refuse("divisor is %u, expected 1..16777216", r.divisor);
  if (r.finish && !m.rounds(static_cast<int>(r.rounding)))
    return refuse("the machine lacks this rounding mode");
  return {};
}

bool uses(const Reduce& r, std::string_view f) {
  if (f == "accumulators") return r.accumulate || !r.finish;
  if (!r.finish && (f == "out" || f == "divisor" || f == "in_scale" || f == "out_scale" ||
                    f == "out_zero" || f == "lowest" || f == "highest" || f == "rounding"))
    return false;
  return !idle_stride(f, "in", r.height, r.width);
}

}  // namespace

extern constinit const InstructionDef instruction_reduce = {
    .name = "reduce",
    .doc = "Mean over height and width, in several tiles if need be.",
    .queues = {Queue::vector},
    .operands = operand_struct<Reduce>(),
    .fields = fields,
    .functions = {&vector_unit::reduce},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction reduce{"reduce", "per step of input elements"};
}
