#pragma once
#include <cstdint>

namespace longshore {

/// The NPU's in-order queues; the CPU's steps are a fifth.
enum class Queue : std::uint8_t { dma_in, dma_out, mac, vector };
inline constexpr int queue_count = 4;

struct Instruction {
  Queue queue = Queue::dma_in;
};

}  // namespace longshore
