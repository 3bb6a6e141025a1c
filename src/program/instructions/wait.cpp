#include "program/instructions/wait.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr auto fields =
    field_list(LONGSHORE_FIELD(Wait, semaphore, semaphore), LONGSHORE_FIELD(Wait, number, count));

Status check(const Wait& o, const Machine& m, Queue) {
  return check_semaphore(o.semaphore, o.count, m);
}

}  // namespace

extern constinit const InstructionDef instruction_wait = {
    .name = "wait",
    .doc = "Takes from a counting semaphore, once it counts enough.",
    .queues = {Queue::dma_in, Queue::dma_out, Queue::mac, Queue::vector},
    .control = true,
    .operands = operand_struct<Wait>(),
    .fields = fields,
    .check = erased<check>,
};

}  // namespace longshore::instructions
