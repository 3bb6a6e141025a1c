#include "program/instructions/copy.hpp"

#include "program/instruction_def.hpp"
#include "program/runs.hpp"

namespace longshore::instructions {
namespace {

constexpr auto fields = field_list(
    LONGSHORE_FIELD(Copy, address, from), LONGSHORE_THREE(Copy, stride, from_stride),
    LONGSHORE_FIELD(Copy, address, to), LONGSHORE_THREE(Copy, stride, to_stride), run_fields<Copy>);

void regions(const Copy& c, Queue, Regions& out) {
  out.add(runs_region(Space::sram, "from", c.from, c.from_stride, c));
  out.add(written(runs_region(Space::sram, "to", c.to, c.to_stride, c)));
}

bool uses(const Copy& c, std::string_view field) {
  return !idle_loop(field, "from_stride", c.count) && !idle_loop(field, "to_stride", c.count);
}

const VectorFunction& function(const Copy&) { return vector_unit::copy; }

}  // namespace

extern constinit const InstructionDef instruction_copy = {
    .name = "copy",
    .doc = "SRAM to SRAM.",
    .queues = {Queue::vector},
    .operands = operand_struct<Copy>(),
    .fields = fields,
    .functions = {&vector_unit::copy},
    .function = erased<function>,
    .regions = erased<regions>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction copy{"copy", "per step of bytes"};
}
