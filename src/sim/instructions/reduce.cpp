#include "program/instructions/reduce.hpp"

#include <cstring>

#include "sim/execution.hpp"
#include "sim/mean.hpp"

namespace longshore::executions {
namespace {

Status execute(const Reduce& o, Execution& on) {
  std::vector<std::uint32_t> sums(o.channels, 0);  // unsigned: wraps as hardware does
  if (o.accumulate) std::memcpy(sums.data(), on.sram + o.accumulators, std::size_t{o.channels} * 4);
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const auto* in = reinterpret_cast<const std::int8_t*>(pixel(on.sram, o.in, y, x));
      for (std::uint32_t c = 0; c < o.channels; c++)
        sums[c] += static_cast<std::uint32_t>(in[c] - o.in_zero);
    }
  if (!o.finish) {
    std::memcpy(on.sram + o.accumulators, sums.data(), std::size_t{o.channels} * 4);
    return {};
  }
  Multiplier m;
  LONGSHORE_TRY(mean_multiplier(o.in_scale, o.out_scale, o.divisor, m));
  for (std::uint32_t c = 0; c < o.channels; c++)
    on.sram[o.out + c] = static_cast<std::byte>(requantise(
        static_cast<std::int32_t>(sums[c]), m, o.out_zero, o.lowest, o.highest, o.rounding));
  return {};
}

double cycles(const Reduce& o, const Machine& m) {
  return vector_cycles(m, vector_unit::reduce, std::uint64_t{o.height} * o.width * o.channels);
}

}  // namespace

extern constinit const ExecutionDef execution_reduce = {
    .instruction = &Reduce::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
