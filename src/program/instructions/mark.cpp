#include "program/instructions/mark.hpp"

#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr auto fields = field_list(LONGSHORE_FIELD(Mark, flag, begin));

}  // namespace

extern constinit const InstructionDef instruction_mark = {
    .name = "mark",
    .doc = "A time stamp: the engine begins or ends the layer.",
    .queues = {Queue::dma_in, Queue::dma_out, Queue::mac, Queue::vector},
    .control = true,
    .operands = operand_struct<Mark>(),
    .fields = fields,
};

}  // namespace longshore::instructions
