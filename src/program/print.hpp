#pragma once
#include <string>

#include "program/field.hpp"
#include "program/program.hpp"

namespace longshore {

/// A core's queue: mac, or mac.1 on a machine of several cores.
std::string queue_name(const Machine&, std::uint32_t core, Queue);
/// The operand's value: a number, or the name of a dtype.
std::string print_field(const Field&, const void* operands);
/// One line: `mac.0 conv in=0 in_row_stride=448 ... layer=3`; operands at their default are left
/// out.
std::string print(const Instruction&);
/// `op Quantize(2) -> (5)`, `wait 3`, `clean 0+4096`.
std::string print(const Step&);
/// A listing: values, CPU steps, and each queue with an index per line.
std::string print(const Program&);

}  // namespace longshore
