#include "program/instruction.hpp"

#include <cstring>
#include <vector>

#include "program/instruction_def.hpp"

namespace longshore {

Operation::Operation(const InstructionDef& def) noexcept : def_(&def) {
  std::memcpy(bytes_, def.operands.defaults, def.operands.size_bytes);
}

bool Operation::operator==(const Operation& other) const noexcept {
  if (def_ != other.def_) return false;
  for (const Field& f : def_->fields)  // not all bytes: padding has any value
    if (std::memcmp(bytes_ + f.offset, other.bytes_ + f.offset, size_bytes(f.kind)) != 0)
      return false;
  return true;
}

const char* name(const Operation& operation) noexcept { return operation.def().name; }

bool is_control(const Operation& operation) noexcept { return operation.def().control; }

std::uint64_t macs(const Operation& operation) noexcept {
  const InstructionDef& def = operation.def();
  return def.macs ? def.macs(operation.operands()) : 0;
}

const InstructionDef* instruction_named(std::string_view name) noexcept {
  for (const InstructionDef* def : instructions::all())
    if (def->name == name) return def;
  return nullptr;
}

std::span<const VectorFunction* const> vector_functions() noexcept {
  static const std::vector<const VectorFunction*> all = [] {
    std::vector<const VectorFunction*> out;
    for (const InstructionDef* def : instructions::all())
      out.insert(out.end(), def->functions.begin(), def->functions.end());
    return out;
  }();
  return all;
}

std::size_t index(const VectorFunction& function) noexcept {
  const std::span<const VectorFunction* const> all = vector_functions();
  std::size_t i = 0;
  while (i < all.size() && all[i] != &function) i++;
  return i;
}

}  // namespace longshore
