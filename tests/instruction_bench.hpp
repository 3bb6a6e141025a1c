// Instructions run by themselves, and what the SRAM held before and after.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "program/instructions/conv.hpp"
#include "sim/execute.hpp"

namespace longshore::tests {

/// A machine whose memories hold random bytes.
struct Bench {
  Machine machine;
  NpuMemory memory;
  Workspace work;
  std::mt19937 rng;

  static Machine plain() {
    Machine m;
    m.present = true;
    m.sram_bytes = 1 << 17;
    m.mac_alignment = 1;
    m.dma_dims = 4;
    return m;
  }
  explicit Bench(unsigned seed) : machine(plain()), memory(machine, 1 << 14, {}, false), rng(seed) {
    for (const std::span<std::byte> bytes : {memory.sram(0), memory.dram()})
      for (std::size_t i = 0; i < bytes.size(); i += 4) {
        const auto word = static_cast<std::uint32_t>(rng());
        std::memcpy(bytes.data() + i, &word, 4);
      }
  }
  std::int8_t* sram() { return reinterpret_cast<std::int8_t*>(memory.sram(0).data()); }
  std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(rng()) % (high - low + 1);
  }
  /// A place of its own for `bytes`, aligned to 4, or to 8 where asked for.
  std::uint32_t place(std::uint32_t bytes, std::uint32_t alignment = 4) {
    used = (used + alignment - 1) / alignment * alignment;
    const std::uint32_t at = used;
    used = (used + bytes + 7) / 4 * 4;
    return at;
  }
  Tile tile(std::uint32_t height, std::uint32_t width, std::uint32_t channels,
            std::uint32_t element = 1) {
    Tile t;
    t.pixel_stride = (channels + pick(0, 3)) * element;
    t.row_stride = width * t.pixel_stride + pick(0, 5) * element;
    t.address = place(height * t.row_stride, element == 8 ? 8 : 4);
    return t;
  }
  void run(Queue queue, const Operation& operation) {
    Instruction i;
    i.queue = queue;
    i.operation = operation;
    const Status fits = check(machine, {1 << 14, 0}, i);
    ASSERT_TRUE(fits.ok()) << fits.text();
    const Status done = execute(i, memory, work);
    ASSERT_TRUE(done.ok()) << done.text();
  }
  std::uint32_t used = 0;
};

/// Codes and sums as the comments address them, from a copy of the SRAM before the instruction.
struct Before {
  std::vector<std::int8_t> bytes;
  explicit Before(Bench& b) : bytes(b.sram(), b.sram() + b.machine.sram_bytes) {}
  int at(const Tile& t, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t pixel = t.address + y * t.row_stride + x * t.pixel_stride;
    if (t.dtype != DType::i16) return bytes[static_cast<std::size_t>(pixel + c)];
    std::int16_t v;
    std::memcpy(&v, bytes.data() + pixel + 2 * c, 2);
    return v;
  }
  template <class Sum = std::int32_t>
  Sum word(const Tile& t, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t pixel = t.address + y * t.row_stride + x * t.pixel_stride;
    Sum v;
    std::memcpy(&v, bytes.data() + pixel + static_cast<std::int64_t>(sizeof v) * c, sizeof v);
    return v;
  }
};

}  // namespace longshore::tests
