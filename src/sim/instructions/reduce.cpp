#include "program/instructions/reduce.hpp"

#include <cstring>
#include <type_traits>

#include "sim/codes.hpp"
#include "sim/execution.hpp"
#include "sim/mean.hpp"

namespace longshore::executions {
namespace {

/// Sums of 8-bit codes have 32 bits, those of 16-bit codes 64; unsigned: they wrap as hardware
/// does.
template <class Code, class Sum>
Status run(const Reduce& o, Execution& on) {
  std::vector<Sum> sums(o.channels, 0);
  const std::size_t size = std::size_t{o.channels} * sizeof(Sum);
  if (o.accumulate) std::memcpy(sums.data(), on.sram + o.accumulators, size);
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const std::byte* in = pixel(on.sram, o.in, y, x);
      for (std::uint32_t c = 0; c < o.channels; c++)
        sums[c] += static_cast<Sum>(std::int64_t{code_at<Code>(in, c)} - o.in_zero);
    }
  if (!o.finish) {
    std::memcpy(on.sram + o.accumulators, sums.data(), size);
    return {};
  }
  Multiplier m;
  LONGSHORE_TRY(mean_multiplier(o.in_scale, o.out_scale, o.divisor, m));
  for (std::uint32_t c = 0; c < o.channels; c++)
    put_code<Code>(on.sram + o.out, c,
                   requantise(static_cast<std::make_signed_t<Sum>>(sums[c]), m, o.out_zero,
                              o.lowest, o.highest, o.rounding));
  return {};
}

Status execute(const Reduce& o, Execution& on) {
  return o.in.dtype == DType::i16 ? run<std::int16_t, std::uint64_t>(o, on)
                                  : run<std::int8_t, std::uint32_t>(o, on);
}

double cycles(const Reduce& o, const Machine& m) {
  return vector_cycles(m, vector_unit::reduce,
                       std::uint64_t{o.height} * o.width * o.channels * lanes_of(o.in));
}

}  // namespace

extern constinit const ExecutionDef execution_reduce = {
    .instruction = &Reduce::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
