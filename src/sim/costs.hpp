// The time of one instruction in closed form. Pure functions of the machine and the operands: the
// simulator, the planner's search and placement all use these. docs/sim.md has the formulas.
#pragma once
#include <cstdint>
#include <optional>

#include "program/instructions/conv.hpp"
#include "program/instructions/dma.hpp"
#include "program/machine.hpp"
#include "program/region.hpp"

namespace longshore {

/// Cycles of a matrix product m x k times k x n on a systolic array of rows x columns, one fold
/// after the other, as SCALE-Sim 3 counts them ("total cycles", without prefetch or stalls). `flow`
/// is one of the three stationary ones.
std::uint64_t systolic_cycles(Dataflow flow, std::uint32_t rows, std::uint32_t columns,
                              std::uint64_t m, std::uint64_t n, std::uint64_t k) noexcept;
/// Folds of the same product: how often the array is filled anew.
std::uint64_t systolic_folds(Dataflow flow, std::uint32_t rows, std::uint32_t columns,
                             std::uint64_t m, std::uint64_t n, std::uint64_t k) noexcept;

/// Cycles of the same where the next fold's operands load behind this one's stream.
double systolic_overlapped(const Machine&, std::uint64_t m, std::uint64_t n,
                           std::uint64_t k) noexcept;

/// MAC cycles of a convolution tile: the greater of array and drain, plus set-up.
double conv_cycles(const Machine&, const Conv&) noexcept;

/// `elements` results, each of `window` elements of work.
double vector_cycles(const Machine&, const VectorFunction&, std::uint64_t elements,
                     std::uint64_t window = 1) noexcept;

/// Cycles of an instruction of queue mac or vector, and of Fill on any queue; without dispatch.
/// 0 for control instructions and transfers.
double compute_cycles(const Machine&, const Operation&) noexcept;

/// What a DMA asks of the DRAM and of its own channel.
struct DmaCost {
  std::uint64_t bytes = 0;       // useful
  std::uint64_t dram_bytes = 0;  // moved on the DRAM's side: runs rounded to bursts
  double setup_ns = 0;           // set-up and DRAM latency, before the first byte
  double bytes_per_ns = 0;       // most dram_bytes per time that the channel can move alone
  double dram_share = 1;         // DRAM peak bytes spent per byte: 1 / efficiency
  bool constants = false;        // of the constants' own memory: "DRAM" above is that one

  double server_gb_per_s(const Machine& m) const noexcept {
    return constants ? m.constants_gb_per_s : m.dram_gb_per_s;
  }
};
/// `write`: towards the DRAM (queue dma_out).
DmaCost dma_cost(const Machine&, const Dma&, bool write) noexcept;

/// Of an instruction that moves bytes between SRAM and DRAM; nothing of others.
std::optional<DmaCost> transfer_cost(const Machine&, const Instruction&) noexcept;

/// Time of a DMA that has the DRAM to itself.
double transfer_ns(const Machine&, const DmaCost&) noexcept;
double dma_ns(const Machine&, const Dma&, bool write) noexcept;

/// Time of an instruction by itself: dispatch, then dma_ns or compute_cycles. 0 for control.
double alone_ns(const Machine&, const Instruction&) noexcept;

/// Time of a clean or invalidate step.
double cache_op_ns(const Machine&, std::uint64_t bytes) noexcept;

/// Energy of an instruction in nanojoules by the machine's four numbers.
double energy_nj(const Machine&, const Instruction&) noexcept;

}  // namespace longshore
