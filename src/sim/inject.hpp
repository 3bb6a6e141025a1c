#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "program/field.hpp"
#include "program/program.hpp"

namespace longshore {

/// A program with one operand of one instruction changed.
struct Injection {
  Program program;
  Queue queue = Queue::dma_in;
  std::size_t index = 0;    // into program.queues[queue]
  std::string instruction;  // "mac[12]"; "mac.1[12]" on a machine of several cores
  std::string field, before, after;
  Role role = Role::number;  // of the operand
  std::string text;          // "mac[12] conv: in_zero 3 -> 4"
};

/// Draws one of the program's operands, each as likely, and another value for it, all by `seed`.
/// Operands that are in no region and no formula of their instruction, such as the stride of a loop
/// that turns once, are not drawn (InstructionDef::uses). Nothing if no instruction has operands.
std::optional<Injection> inject(const Program&, std::uint64_t seed);

}  // namespace longshore
