#include "program/instructions/fill.hpp"

#include "program/instruction_def.hpp"
#include "program/runs.hpp"

namespace longshore::instructions {
namespace {

constexpr auto fields =
    field_list(LONGSHORE_FIELD(Fill, address, address), LONGSHORE_THREE(Fill, stride, stride),
               run_fields<Fill>, LONGSHORE_FIELD(Fill, number, value));

void regions(const Fill& f, Queue, Regions& out) {
  out.add(written(runs_region(Space::sram, "address", f.address, f.stride, f)));
}

bool uses(const Fill& f, std::string_view field) { return !idle_loop(field, "stride", f.count); }

const VectorFunction& function(const Fill&) { return vector_unit::fill; }

}  // namespace

extern constinit const InstructionDef instruction_fill = {
    .name = "fill",
    .doc = "Writes one byte value into a strided region.",
    .queues = {Queue::dma_in, Queue::vector},
    .operands = operand_struct<Fill>(),
    .fields = fields,
    .functions = {&vector_unit::fill},
    .function = erased<function>,
    .regions = erased<regions>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction fill{"fill", "per step of bytes"};
}
