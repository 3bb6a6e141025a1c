// Instructions and machines as words: what a bundle holds.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "program/instruction.hpp"
#include "program/machine.hpp"

namespace longshore {

/// Per instruction: one word with length, operation, queue and core; the layer; then each operand in
/// the order of fields.hpp, 64-bit ones as two words, low first.
void encode(const Instruction&, std::vector<std::uint32_t>&);

/// Reads all words. Any error (unknown operation, wrong length, a flag that is not one) is a Status;
/// ranges are the business of `check`.
Result<std::vector<Instruction>> decode(std::span<const std::uint32_t> words);

/// Every number of the machine in the order of Machine::each as 8 bytes, without its name. `decode`
/// accepts as many numbers as this version has and no other count.
void encode(const Machine&, std::vector<std::uint64_t>&);
Status decode(std::span<const std::uint64_t> words, Machine&);

}  // namespace longshore
