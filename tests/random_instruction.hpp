#pragma once
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "program/access.hpp"
#include "program/instruction_def.hpp"

namespace longshore::tests {

/// Where the operands of a random instruction may lie.
struct Places {
  std::vector<std::uint32_t> sram;  // an address is one of these
  std::uint64_t dram_bytes = 0;     // of arena and constants
  std::uint32_t pixel = 64, row = 256, most_extent = 4;
};

/// An instruction of the kind with random operands that `check` accepts; what its fields are is
/// all that is known of it. Nothing if no draw was accepted.
inline std::optional<Instruction> random_instruction(const InstructionDef& def, const Machine& m,
                                                     const MemorySizes& sizes, const Places& places,
                                                     std::mt19937& rng) {
  const auto pick = [&](std::uint64_t n) { return static_cast<std::uint64_t>(rng()) % n; };
  for (int attempt = 0; attempt < 30000; attempt++) {
    Instruction i;
    i.operation = Operation(def);
    i.queue = def.queues[pick(def.queues.size())];
    for (const Field& f : def.fields)
      visit_field(f, i.operation.operands(), [&]<class T>(T& x) {
        const std::string_view name = f.name;
        if constexpr (std::is_same_v<T, float>) {
          x = 0.01f * static_cast<float>(1 + pick(100));
        } else if constexpr (std::is_same_v<T, bool>) {
          x = pick(2) != 0;
        } else if (f.role == Role::dtype) {
          std::vector<int> allowed;
          for (int t = 0; t < dtype_count; t++)
            if (f.types.has(DType(t))) allowed.push_back(t);
          x = static_cast<T>(allowed[pick(allowed.size())]);
        } else if (f.role == Role::address) {
          x = static_cast<T>(name.starts_with("dram") ? 64 * pick(places.dram_bytes / 64)
                                                      : places.sram[pick(places.sram.size())]);
        } else if (f.role == Role::stride && f.highest > 1000) {
          const std::uint32_t any[] = {0, 16, places.pixel, places.row};
          x = static_cast<T>(name.ends_with("row_stride")     ? places.row
                             : name.ends_with("pixel_stride") ? places.pixel
                                                              : any[pick(4)]);
        } else if (f.role == Role::extent) {
          x = static_cast<T>(1 + pick(name == "run_bytes" ? 16 : places.most_extent));
        } else if (f.role == Role::code) {
          x = static_cast<T>(name == "lowest"    ? -128 + static_cast<int>(pick(100))
                             : name == "highest" ? 127 - static_cast<int>(pick(100))
                                                 : static_cast<int>(pick(256)) - 128);
        } else if (f.role == Role::semaphore) {
          x = static_cast<T>(pick(m.semaphores));
        } else if constexpr (std::is_same_v<T, std::uint8_t>) {
          x = static_cast<T>(pick(static_cast<std::uint64_t>(f.highest) + 1));
        } else {
          x = static_cast<T>(f.highest < 1000 && f.highest >= 0
                                 ? pick(static_cast<std::uint64_t>(f.highest) + 1)
                                 : pick(4));
        }
      });
    if (check(m, sizes, i).ok()) return i;
  }
  return {};
}

}  // namespace longshore::tests
