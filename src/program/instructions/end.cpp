#include "program/instructions/end.hpp"

#include "program/instruction_def.hpp"

namespace longshore::instructions {

extern constinit const InstructionDef instruction_end = {
    .name = "end",
    .doc = "The end of an engine's list.",
    .queues = {Queue::dma_in, Queue::dma_out, Queue::mac, Queue::vector},
    .control = true,
    .operands = operand_struct<End>(),
};

}  // namespace longshore::instructions
