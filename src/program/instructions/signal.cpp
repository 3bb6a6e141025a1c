#include "program/instructions/signal.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr auto fields = field_list(LONGSHORE_FIELD(Signal, semaphore, semaphore),
                                   LONGSHORE_FIELD(Signal, number, count));

Status check(const Signal& o, const Machine& m, Queue) {
  return check_semaphore(o.semaphore, o.count, m);
}

}  // namespace

extern constinit const InstructionDef instruction_signal = {
    .name = "signal",
    .doc = "Adds to a counting semaphore.",
    .queues = {Queue::dma_in, Queue::dma_out, Queue::mac, Queue::vector},
    .control = true,
    .operands = operand_struct<Signal>(),
    .fields = fields,
    .check = erased<check>,
};

}  // namespace longshore::instructions
