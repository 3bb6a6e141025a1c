#include <array>

#include "base/error.hpp"
#include "target/target.hpp"

namespace longshore {
namespace {

using Kind = MachineField::Kind;
constexpr double many = 4294967295.0, many_bytes = 1099511627776.0;

// Bounds keep every formula of src/sim/costs.hpp finite.
constexpr MachineField fields[] = {
    {"clock.mhz", "clock of MAC array, vector unit and DMA, MHz", 0.1, 1e5, true, Kind::number},
    {"cores.count",
     "cores, each with SRAM and queues of its own; plans use four, and 64 semaphores for each", 1,
     64, true, Kind::integer},
    {"mac.dataflow",
     "what the array keeps: weight_stationary, output_stationary, input_stationary, block, "
     "micro_block",
     0, 4, true, Kind::dataflow},
    {"mac.rows", "rows of the array (block, micro_block: input channels per cycle)", 1, 65536, true,
     Kind::integer},
    {"mac.columns", "columns of the array (block, micro_block: output channels per cycle)", 1,
     65536, true, Kind::integer},
    {"mac.setup_cycles", "fill and drain per instruction, cycles", 0, 1e6, true, Kind::integer},
    {"mac.stripe_min", "block, micro_block: fewest pixels that weights stay for", 1, 65536, true,
     Kind::integer},
    {"mac.stripe_max", "block, micro_block: most pixels that weights stay for", 1, 65536, true,
     Kind::integer},
    {"mac.micro_width", "micro_block: output pixels across that are worked on at once", 1, 256,
     false, Kind::integer},
    {"mac.micro_height", "micro_block: output pixels down that are worked on at once", 1, 256,
     false, Kind::integer},
    {"mac.step_cycles",
     "micro_block: cycles of a kernel step; so many times the rows are its inputs, of one tap or "
     "of "
     "so many taps",
     1, 256, false, Kind::integer},
    {"mac.input_grain",
     "block: input channels are rounded up to so many, and what is left of the rows takes other "
     "work; 0: to the rows",
     0, 65536, false, Kind::integer},
    {"mac.output_grain",
     "block: output channels are rounded up to so many, and what is left of the columns takes "
     "other work; 0: to the columns",
     0, 65536, false, Kind::integer},
    {"mac.winograd",
     "block: 3 x 3 kernels of stride 1 take 16 multiplications for 2 x 2 pixels instead of 36", 0,
     1, false, Kind::flag},
    {"mac.i16_rate",
     "of products of 16-bit codes and 8-bit weights, as a part of that of bytes; 0: it has none", 0,
     1, false, Kind::number},
    {"mac.i16_weights_rate",
     "of products of 16-bit codes and 16-bit weights, as a part of that of bytes; 0: it has none",
     0, 1, false, Kind::number},
    {"mac.packs_narrow_input", "block: kernel columns share the rows if input channels are few", 0,
     1, true, Kind::flag},
    {"mac.overlaps_folds", "systolic: the next weights load while this fold streams", 0, 1, true,
     Kind::flag},
    {"mac.depthwise_lanes",
     "channels that a depthwise instruction multiplies per cycle; 0: it has none", 0, 65536, true,
     Kind::integer},
    {"mac.depthwise_taps", "kernel taps that a depthwise instruction multiplies per cycle", 1,
     65536, true, Kind::integer},
    {"mac.drain_elements_per_cycle", "accumulators requantised per cycle", 0.001, 1e6, true,
     Kind::number},
    {"mac.accumulators", "most output elements of one instruction; 0: no limit", 0, many, true,
     Kind::integer},
    {"mac.alignment", "of addresses and strides of MAC inputs, weights and parameters, bytes", 1,
     4096, true, Kind::integer},
    {"sram.bytes", "SRAM of one core, bytes", 1024, 2147483648.0, true, Kind::integer},
    {"sram.banks", "banks of the SRAM", 1, 65536, true, Kind::integer},
    {"sram.word_bytes", "one access per cycle and queue, bytes", 1, 65536, true, Kind::integer},
    {"dma.alignment", "of the addresses of DMA runs, bytes; plans know no other", 1, 1, true,
     Kind::integer},
    {"dma.burst_bytes", "smallest DRAM access, bytes", 1, 65536, true, Kind::integer},
    {"dma.outstanding", "bursts in flight", 1, 65536, true, Kind::integer},
    {"dma.setup_cycles", "per DMA instruction, cycles", 0, 1e6, true, Kind::integer},
    {"dma.depth", "descriptors in flight", 1, 65536, true, Kind::integer},
    {"dma.bytes_per_cycle", "of one channel", 0.001, 65536, true, Kind::number},
    {"dma.dims", "dimensions that an instruction walks", 1, 4, true, Kind::integer},
    {"dma.shared_loads", "a load can write the same bytes into the SRAM of several cores", 0, 1,
     false, Kind::flag},
    {"dram.gb_per_s", "peak, 10^9 bytes per second", 0.001, 1e5, true, Kind::number},
    {"dram.read_efficiency", "of the peak", 0.01, 1, true, Kind::number},
    {"dram.write_efficiency", "of the peak", 0.01, 1, true, Kind::number},
    {"dram.latency_ns", "per DMA, ns", 0, 1e6, true, Kind::number},
    {"dram.bytes", "that a program may take of it, bytes; 0: not limited", 0, many_bytes, false,
     Kind::integer},
    {"constants.gb_per_s",
     "of a memory of its own for constants, sustained, 10^9 bytes per second; 0: the DRAM holds "
     "them",
     0, 1e5, false, Kind::number},
    {"constants.latency_ns", "of that memory, per DMA, ns", 0, 1e6, false, Kind::number},
    {"constants.bytes", "that a program's constants may take, bytes; 0: not limited", 0, many_bytes,
     false, Kind::integer},
    {"vector.lanes", "8-bit elements per step; a 16-bit one counts twice", 1, 65536, true,
     Kind::integer},
    {"vector.alignment", "of the addresses of vector operands, bytes", 1, 4096, true,
     Kind::integer},
    {"vector.setup_cycles", "per vector instruction, cycles", 0, 1e6, true, Kind::integer},
    {"control.dispatch_cycles", "fetch and decode per instruction, cycles", 0, 1e6, true,
     Kind::integer},
    {"control.layer_switch_cycles", "when an engine begins another layer, cycles", 0, 1e7, true,
     Kind::integer},
    {"control.semaphores", "how many", 1, 65536, true, Kind::integer},
    {"control.semaphore_limit", "most that one can count", 16, many, true, Kind::integer},
    {"control.submit_us", "CPU time of a signal to the NPU, us", 0, 1e6, true, Kind::number},
    {"control.interrupt_us", "from the NPU's signal to the CPU's next step, us", 0, 1e6, true,
     Kind::number},
    {"cache.coherent", "the NPU sees the CPU's cache", 0, 1, true, Kind::flag},
    {"cache.line_bytes", "of the CPU's cache, bytes", 1, 4096, true, Kind::integer},
    {"cache.op_us", "per clean or invalidate, us", 0, 1e6, true, Kind::number},
    {"cache.gb_per_s", "that a clean or invalidate walks", 0.001, 1e5, true, Kind::number},
    {"energy.mac_pj",
     "per multiply-accumulate of bytes, pJ; a wider one costs this over its rate; 0: not known", 0,
     1e6, false, Kind::number},
    {"energy.vector_element_pj", "per element of a vector instruction, pJ", 0, 1e6, false,
     Kind::number},
    {"energy.sram_byte_pj", "per byte read or written, pJ", 0, 1e6, false, Kind::number},
    {"energy.dram_byte_pj", "per byte moved, pJ", 0, 1e6, false, Kind::number},
    {"energy.idle_mw", "while nothing runs, mW", 0, 1e6, false, Kind::number},
    {"thermal.resistance_k_per_w", "rise per watt, K/W; 0: not known", 0, 1e4, false, Kind::number},
    {"thermal.time_s", "time constant, s", 0, 1e6, false, Kind::number},
    {"thermal.throttle_celsius", "where the clock falls, degrees C", 0, 1000, false, Kind::number},
};

}  // namespace

const std::vector<MachineField>& machine_fields() {
  static const std::vector<MachineField> all = [] {
    // The prices of vector functions come from the instructions' files; a unit without one lacks
    // the function.
    static std::vector<std::array<std::string, 2>> texts;
    for (const VectorFunction* f : vector_functions())
      texts.push_back({str("vector.", f->name, "_cycles"), str(f->doc, "; 0: it has none")});
    std::vector<MachineField> out;
    for (const MachineField& field : fields) {
      out.push_back(field);
      if (field.key == "vector.setup_cycles")
        for (const auto& [key, doc] : texts) out.push_back({key, doc, 0, 1e4, false, Kind::number});
    }
    return out;
  }();
  return all;
}

double machine_number(const Machine& machine, std::string_view wanted) {
  double out = 0;
  bool found = false;
  Machine::each(machine, [&](const char* section, const char* key, const auto& member) {
    if (wanted != str(section, ".", key)) return;
    out = static_cast<double>(member);
    found = true;
  });
  check(found, "a field of a target file without a number in Machine");
  return out;
}

void set_machine_number(Machine& machine, std::string_view wanted, double value) {
  bool found = false;
  Machine::each(machine, [&](const char* section, const char* key, auto& member) {
    if (wanted != str(section, ".", key)) return;
    member = static_cast<std::remove_reference_t<decltype(member)>>(static_cast<double>(value));
    found = true;
  });
  check(found, "a field of a target file without a number in Machine");
}

}  // namespace longshore
