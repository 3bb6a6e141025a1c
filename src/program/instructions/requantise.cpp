#include "program/instructions/requantise.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields = field_list(
    LONGSHORE_TILE(Requantise, in, codes), LONGSHORE_TILE(Requantise, out, codes),
    LONGSHORE_FIELD(Requantise, extent, height), LONGSHORE_FIELD(Requantise, extent, width),
    LONGSHORE_FIELD(Requantise, extent, channels), LONGSHORE_FIELD(Requantise, scale, in_scale),
    LONGSHORE_FIELD(Requantise, scale, out_scale), LONGSHORE_CODE(Requantise, in_zero, in),
    LONGSHORE_CLAMP(Requantise, out));

void regions(const Requantise& r, Queue, Regions& out) {
  out.add(in_place(tile_region("in", r.in, r.height, r.width, r.channels), r.in == r.out));
  out.add(written(tile_region("out", r.out, r.height, r.width, r.channels)));
}

const VectorFunction& function(const Requantise&) { return vector_unit::requantise; }

Status check(const Requantise& r, const Machine&, Queue) { return check_clamp(r); }

}  // namespace

extern constinit const InstructionDef instruction_requantise = {
    .name = "requantise",
    .doc = "To another scale and zero point.",
    .queues = {Queue::vector},
    .operands = operand_struct<Requantise>(),
    .fields = fields,
    .functions = {&vector_unit::requantise},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses_in_and_out<Requantise>>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction requantise{"requantise", "per step of elements"};
}
