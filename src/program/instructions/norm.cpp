#include "program/instructions/norm.hpp"

#include <cmath>

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields =
    field_list(LONGSHORE_TILE(Norm, in, codes), LONGSHORE_TILE(Norm, out, codes),
               LONGSHORE_FIELD(Norm, extent, height), LONGSHORE_FIELD(Norm, extent, width),
               LONGSHORE_FIELD(Norm, extent, channels), LONGSHORE_FIELD(Norm, address, parameters),
               LONGSHORE_FIELD(Norm, scale, in_scale), LONGSHORE_CODE(Norm, in_zero, in),
               LONGSHORE_FIELD(Norm, number, epsilon), LONGSHORE_FIELD(Norm, flag, subtract_mean),
               LONGSHORE_FIELD(Norm, scale, out_scale), LONGSHORE_CLAMP(Norm, out));

void regions(const Norm& n, Queue, Regions& out) {
  out.add(in_place(tile_region("in", n.in, n.height, n.width, n.channels), n.in == n.out));
  out.add(plain_region("parameters", n.parameters, 2 * sizeof(float) * std::uint64_t{n.channels}));
  out.add(written(tile_region("out", n.out, n.height, n.width, n.channels)));
}

const VectorFunction& function(const Norm&) { return vector_unit::norm; }

Status check(const Norm& n, const Machine&, Queue) {
  if (!(n.epsilon >= 0) || !std::isfinite(n.epsilon))
    return refuse("epsilon is %g, expected a finite number from 0 on",
                  static_cast<double>(n.epsilon));
  if (n.in.dtype == DType::i16 && n.in_zero != 0)
    return refuse("in_zero is %d, expected 0 of 16-bit codes", n.in_zero);
  return check_clamp(n);
}

}  // namespace

extern constinit const InstructionDef instruction_norm = {
    .name = "norm",
    .doc = "Layer or RMS normalisation of each pixel's channels.",
    .queues = {Queue::vector},
    .operands = operand_struct<Norm>(),
    .fields = fields,
    .functions = {&vector_unit::norm},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses_in_and_out<Norm>>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction norm{"norm", "per step of elements of a normalisation"};
}
