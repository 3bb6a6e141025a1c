// What each layer asks of each engine, and the whole against what the machine could do at best.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/schedule.hpp"

namespace longshore {

/// What a layer waits for: the engine that is busy longest for it. `dispatch`: that engine spends
/// more on fetching instructions than on their work.
enum class BoundBy : std::uint8_t { nothing, mac, vector, dma_in, dma_out, dispatch, host };
/// mac, vector, "dma in", ...; "-" for nothing.
std::string_view name(BoundBy) noexcept;

struct LayerUse {
  /// Work of each queue, dispatch not counted, on the core where it is most; [Queue].
  double busy_ns[queue_count] = {};
  double dispatch_ns = 0;  // of the engine that is busy longest
  double host_ns = 0;      // of the CPU's steps
  BoundBy bound = BoundBy::nothing;
  /// Moved between DRAM and SRAM: constants (weights, biases, tables), values read and written.
  std::uint64_t weight_bytes = 0, input_bytes = 0, output_bytes = 0;
  std::uint64_t sram_bytes = 0;  // that its instructions touch, on the core where it is most
  double energy_uj = 0;          // of its instructions, without what idles; 0: no numbers

  double busy_of(Queue q) const noexcept { return busy_ns[static_cast<int>(q)]; }
  std::uint64_t moved_bytes() const noexcept { return weight_bytes + input_bytes + output_bytes; }
};

/// One for each of Program::layers.
std::vector<LayerUse> layer_uses(const Program&, const Timing&);

/// Multiply-accumulates per nanosecond of all cores' MAC arrays when every multiplier works: rows x
/// columns, times the pixels of a micro-block. Winograd does more than that.
double peak_macs_per_ns(const Machine&) noexcept;

/// The least times that the machine's peaks allow, which no plan beats (but for Winograd).
struct Roofline {
  double compute_ns = 0;    // all multiply-accumulates of the program at the peak
  double dram_ns = 0;       // all bytes that it moves, at the rate that the memory sustains
  double constants_ns = 0;  // the constants alone, each byte once: no plan moves less
  double total_ns = 0;      // as predicted

  /// What no plan that moves these bytes goes below.
  double roof_ns() const noexcept { return compute_ns > dram_ns ? compute_ns : dram_ns; }
  /// 0 to 1.
  double reached() const noexcept { return total_ns > 0 ? roof_ns() / total_ns : 0; }
};
Roofline roofline(const Program&, const Timing&);

}  // namespace longshore
