#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "program/vector_function.hpp"
#include "tensor/dtype.hpp"

namespace longshore {

/// How the MAC array keeps operands while it works. A convolution counts as a matrix product with
/// m = output pixels, n = output channels, k = kernel_h * kernel_w * input channels.
enum class Dataflow : std::uint8_t {
  weight_stationary,  // rows hold k, columns hold n, m streams
  output_stationary,  // rows hold m, columns hold n, k streams
  input_stationary,   // rows hold k, columns hold m, n streams
  block,              // NVDLA-like: rows input channels times columns output channels each cycle
  micro_block,        // Ethos-like: the same for a few output pixels at once, in kernel steps
};

const char* name(Dataflow) noexcept;

/// An NPU in plain numbers, as the planner, the simulator and the verifier need them. src/target
/// reads it from a target file; `each` gives every number its key there. Cycles are cycles of
/// clock_mhz. src/sim/costs.hpp has the formulas.
struct Machine {
  bool present = false;  // false: there is no NPU
  std::string name;

  double clock_mhz = 1000;
  std::uint32_t cores = 1;  // each has its own SRAM and four queues; they share the DRAM

  // The MAC array of one core.
  Dataflow dataflow = Dataflow::block;
  std::uint32_t mac_rows = 32;         // both blocks: input channels per cycle (atomic_c)
  std::uint32_t mac_columns = 32;      // both blocks: output channels per cycle (atomic_k)
  std::uint32_t mac_setup_cycles = 0;  // per instruction: fill and drain of the pipeline
  /// Both blocks: weights stay for a stripe of pixels; a shorter stripe costs as much as
  /// stripe_min.
  std::uint32_t stripe_min = 1, stripe_max = 65536;
  /// micro_block: pixels of a micro-block across and down, which share each weight, and cycles of a
  /// kernel step: step_cycles * rows input channels of a tap, or rows channels of as many taps.
  std::uint32_t micro_width = 1, micro_height = 1, step_cycles = 1;
  /// block: channels are rounded up to these, and what that leaves of the array takes other work;
  /// 0: to all rows, all columns.
  std::uint32_t input_grain = 0, output_grain = 0;
  bool winograd =
      false;  // block: 3 x 3 kernels of stride 1 take 16 products for 2 x 2 pixels, not 36
  bool packs_narrow_input = false;  // block: kernel columns share the rows if channels are few
  /// Rates of products with 16-bit codes, as a part of that of bytes: by 8-bit and by 16-bit
  /// weights; 0: it has none. Sums are 64 bits wide.
  double mac_i16_rate = 0, mac_i16_weights_rate = 0;
  bool overlaps_folds = false;  // systolic: next weights load while this fold streams
  /// Channels and kernel taps that a depthwise instruction multiplies per cycle; 0: it has none.
  std::uint32_t depthwise_lanes = 32, depthwise_taps = 1;
  double drain_elements_per_cycle = 16;  // accumulators requantised per cycle, beside the MACs
  std::uint32_t accumulators = 0;  // most out_h * out_w * out_c of one instruction; 0: no limit

  // SRAM of one core.
  std::uint32_t sram_bytes = 384 * 1024;
  std::uint32_t sram_banks = 12;
  std::uint32_t sram_word_bytes = 16;  // one access per cycle and queue
  std::uint32_t mac_alignment = 16;    // addresses and strides of MAC inputs, weights, parameters
  std::uint32_t vector_alignment = 1;  // addresses of vector operands and of MAC outputs
  std::uint32_t dma_alignment = 1;     // SRAM and DRAM addresses of DMA runs

  // DMA: one in-order channel each for in and out, per core.
  std::uint32_t dma_burst_bytes = 64;   // smallest DRAM access; runs are rounded to it
  std::uint32_t dma_outstanding = 16;   // bursts in flight; bounds the rate by Little's law
  std::uint32_t dma_setup_cycles = 32;  // per DMA instruction
  std::uint32_t dma_depth = 2;          // descriptors in flight: from 2, set-up and latency hide
  double dma_bytes_per_cycle = 16;      // of one channel
  std::uint32_t dma_dims = 4;           // counts above 1 plus the run: 1..4
  bool dma_shared_loads = false;        // a load can write into the SRAM of several cores at once

  // DRAM, shared by all DMA of all cores.
  double dram_gb_per_s = 10;                                       // peak, 10^9 bytes
  double dram_read_efficiency = 0.8, dram_write_efficiency = 0.8;  // of the peak, 0..1
  double dram_latency_ns = 100;  // per DMA, hidden where descriptors overlap
  std::uint64_t dram_bytes = 0;  // that a program may take of it; 0: not limited

  // A memory of its own for what is constant, such as flash; without one the DRAM holds it.
  double constants_gb_per_s = 0;  // as it can be sustained, 10^9 bytes; 0: there is none
  double constants_latency_ns = 0;
  std::uint64_t constants_bytes = 0;  // 0: not limited

  // Vector unit of one core.
  std::uint32_t vector_lanes = 16;        // elements per step
  std::uint32_t vector_setup_cycles = 8;  // per instruction
  /// Cycles per step of each of vector_functions(); 0: the unit lacks it.
  std::vector<double> vector_cycles = std::vector<double>(vector_functions().size(), 1.0);

  // Control.
  std::uint32_t dispatch_cycles = 8;      // fetch and decode, per instruction of any queue
  std::uint32_t layer_switch_cycles = 0;  // when an engine meets another layer than before
  std::uint32_t semaphores = 64;          // ids 0..semaphores-1, all 0 at the start
  std::uint32_t semaphore_limit = 65535;  // most that one can count
  double submit_us = 10;                  // CPU time of a signal to an NPU queue
  double interrupt_us = 10;               // from an NPU's signal to the CPU's next step

  // The CPU's view of the arena.
  bool coherent = false;                // true: the NPU sees the CPU's cache
  std::uint32_t cache_line_bytes = 64;  // clean and invalidate take whole lines
  double cache_op_us = 1;               // per clean or invalidate
  double cache_gb_per_s = 8;            // bytes that a clean or invalidate walks, per time

  std::uint8_t roundings = 7;                   // bit i: Rounding i can be done
  Types dtypes = types(DType::i8, DType::i32);  // of tiles, i64 for sums of i16; an instruction may
                                                // take fewer

  // Energy. 0: not known.
  double mac_pj = 0, vector_element_pj = 0, sram_byte_pj = 0, dram_byte_pj = 0;
  double idle_mw = 0;

  // Thermal: rise = power * resistance, with one time constant. 0: not known.
  double thermal_resistance_k_per_w = 0, thermal_time_s = 0, throttle_celsius = 0;

  double cycles_to_ns(double cycles) const noexcept { return cycles * 1e3 / clock_mhz; }
  /// Of reads of constants, 10^9 bytes per second.
  double constants_rate() const noexcept {
    return constants_gb_per_s > 0 ? constants_gb_per_s : dram_gb_per_s * dram_read_efficiency;
  }
  /// Of products of such codes and weights, as a part of that of bytes; 0: it has none.
  double mac_rate(DType codes, DType weights) const noexcept {
    const std::size_t wide = size_bytes(weights);
    if (size_bytes(codes) == 1) return wide == 1 ? 1 : 0;
    return wide == 1 ? mac_i16_rate : mac_i16_weights_rate;
  }
  bool rounds(int rounding) const noexcept { return (roundings >> rounding & 1) != 0; }
  double cycles_of(const VectorFunction& f) const noexcept {
    const std::size_t i = index(f);
    return i < vector_cycles.size() ? vector_cycles[i] : 0;
  }
  double& cycles_of(const VectorFunction& f) noexcept { return vector_cycles[index(f)]; }
  bool operator==(const Machine&) const = default;

  /// Calls visit(section, key, member) for every number: section and key are those of a target
  /// file and of a bundle. `present` and `name` are not among them.
  template <class Self, class Visit>
  static void each(Self& m, Visit&& visit) {
    each_fixed(m, visit);
    for (const VectorFunction* f : vector_functions())
      visit("vector", (std::string(f->name) + "_cycles").c_str(), m.cycles_of(*f));
  }
  /// Those that do not depend on which instructions there are.
  template <class Self, class Visit>
  static void each_fixed(Self& m, Visit&& visit) {
    visit("clock", "mhz", m.clock_mhz);
    visit("cores", "count", m.cores);
    visit("mac", "dataflow", m.dataflow);
    visit("mac", "rows", m.mac_rows);
    visit("mac", "columns", m.mac_columns);
    visit("mac", "setup_cycles", m.mac_setup_cycles);
    visit("mac", "stripe_min", m.stripe_min);
    visit("mac", "stripe_max", m.stripe_max);
    visit("mac", "micro_width", m.micro_width);
    visit("mac", "micro_height", m.micro_height);
    visit("mac", "step_cycles", m.step_cycles);
    visit("mac", "input_grain", m.input_grain);
    visit("mac", "output_grain", m.output_grain);
    visit("mac", "winograd", m.winograd);
    visit("mac", "i16_rate", m.mac_i16_rate);
    visit("mac", "i16_weights_rate", m.mac_i16_weights_rate);
    visit("mac", "packs_narrow_input", m.packs_narrow_input);
    visit("mac", "overlaps_folds", m.overlaps_folds);
    visit("mac", "depthwise_lanes", m.depthwise_lanes);
    visit("mac", "depthwise_taps", m.depthwise_taps);
    visit("mac", "drain_elements_per_cycle", m.drain_elements_per_cycle);
    visit("mac", "accumulators", m.accumulators);
    visit("mac", "alignment", m.mac_alignment);
    visit("sram", "bytes", m.sram_bytes);
    visit("sram", "banks", m.sram_banks);
    visit("sram", "word_bytes", m.sram_word_bytes);
    visit("dma", "alignment", m.dma_alignment);
    visit("dma", "burst_bytes", m.dma_burst_bytes);
    visit("dma", "outstanding", m.dma_outstanding);
    visit("dma", "setup_cycles", m.dma_setup_cycles);
    visit("dma", "depth", m.dma_depth);
    visit("dma", "bytes_per_cycle", m.dma_bytes_per_cycle);
    visit("dma", "dims", m.dma_dims);
    visit("dma", "shared_loads", m.dma_shared_loads);
    visit("dram", "gb_per_s", m.dram_gb_per_s);
    visit("dram", "read_efficiency", m.dram_read_efficiency);
    visit("dram", "write_efficiency", m.dram_write_efficiency);
    visit("dram", "latency_ns", m.dram_latency_ns);
    visit("dram", "bytes", m.dram_bytes);
    visit("constants", "gb_per_s", m.constants_gb_per_s);
    visit("constants", "latency_ns", m.constants_latency_ns);
    visit("constants", "bytes", m.constants_bytes);
    visit("vector", "lanes", m.vector_lanes);
    visit("vector", "alignment", m.vector_alignment);
    visit("vector", "setup_cycles", m.vector_setup_cycles);
    visit("control", "dispatch_cycles", m.dispatch_cycles);
    visit("control", "layer_switch_cycles", m.layer_switch_cycles);
    visit("control", "semaphores", m.semaphores);
    visit("control", "semaphore_limit", m.semaphore_limit);
    visit("control", "submit_us", m.submit_us);
    visit("control", "interrupt_us", m.interrupt_us);
    visit("cache", "coherent", m.coherent);
    visit("cache", "line_bytes", m.cache_line_bytes);
    visit("cache", "op_us", m.cache_op_us);
    visit("cache", "gb_per_s", m.cache_gb_per_s);
    visit("requantise", "roundings", m.roundings);
    visit("tiles", "dtypes", m.dtypes.bits);
    visit("energy", "mac_pj", m.mac_pj);
    visit("energy", "vector_element_pj", m.vector_element_pj);
    visit("energy", "sram_byte_pj", m.sram_byte_pj);
    visit("energy", "dram_byte_pj", m.dram_byte_pj);
    visit("energy", "idle_mw", m.idle_mw);
    visit("thermal", "resistance_k_per_w", m.thermal_resistance_k_per_w);
    visit("thermal", "time_s", m.thermal_time_s);
    visit("thermal", "throttle_celsius", m.throttle_celsius);
  }
};

}  // namespace longshore
