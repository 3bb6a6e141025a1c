#include "program/instructions/pool.hpp"

#include <algorithm>
#include <limits>

#include "sim/codes.hpp"
#include "sim/execution.hpp"
#include "sim/mean.hpp"

namespace longshore::executions {
namespace {

/// Taps of a window that begins at `start` (may be negative) inside [lowest, highest).
struct Taps {
  std::uint32_t first, end;
  std::uint32_t count() const { return end - first; }
};

Taps inside(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t lowest,
            std::int64_t highest) {
  Taps taps{0, 0};
  while (taps.first < kernel && start + taps.first * dilation < lowest) taps.first++;
  taps.end = taps.first;
  while (taps.end < kernel && start + taps.end * dilation < highest) taps.end++;
  return taps;
}

/// Sums of 8-bit codes have 32 bits, those of 16-bit codes 64.
template <class Code, class Sum>
Status run(const Pool& o, Execution& on) {
  std::vector<Sum> sums(o.channels);
  for (std::uint32_t y = 0; y < o.out_h; y++) {
    const std::int64_t top = std::int64_t{y} * o.stride_h - o.pad_top;
    const Taps rows = inside(top, o.kernel_h, o.dilation_h, 0, o.in_h);
    const Taps padded_rows = inside(top, o.kernel_h, o.dilation_h, -std::int64_t{o.pad_top},
                                    std::int64_t{o.in_h} + o.pad_bottom);
    for (std::uint32_t x = 0; x < o.out_w; x++) {
      const std::int64_t left = std::int64_t{x} * o.stride_w - o.pad_left;
      const Taps columns = inside(left, o.kernel_w, o.dilation_w, 0, o.in_w);
      const bool max = o.function == Pool::Function::max;
      std::fill(sums.begin(), sums.end(), max ? Sum{std::numeric_limits<Code>::lowest()} : Sum{0});
      for (std::uint32_t i = rows.first; i < rows.end; i++)
        for (std::uint32_t j = columns.first; j < columns.end; j++) {
          const auto in_y = static_cast<std::uint64_t>(top + std::int64_t{i} * o.dilation_h);
          const auto in_x = static_cast<std::uint64_t>(left + std::int64_t{j} * o.dilation_w);
          const std::byte* in = pixel(on.sram, o.in, in_y, in_x);
          if (max)
            for (std::uint32_t c = 0; c < o.channels; c++)
              sums[c] = std::max<Sum>(sums[c], code_at<Code>(in, c));
          else
            for (std::uint32_t c = 0; c < o.channels; c++)
              sums[c] += code_at<Code>(in, c) - o.in_zero;
        }
      std::byte* out = pixel(on.sram, o.out, y, x);
      if (max) {
        for (std::uint32_t c = 0; c < o.channels; c++)
          put_code<Code>(out, c,
                         std::clamp(static_cast<std::int32_t>(sums[c]), o.lowest, o.highest));
        continue;
      }
      std::uint64_t count = std::uint64_t{rows.count()} * columns.count();
      if (o.count_include_pad) {
        const Taps padded_columns =
            inside(left, o.kernel_w, o.dilation_w, -std::int64_t{o.pad_left},
                   std::int64_t{o.in_w} + o.pad_right);
        count = std::uint64_t{padded_rows.count()} * padded_columns.count();
      }
      if (count == 0) count = 1;  // a window of padding alone: the sum is 0
      Multiplier m;
      LONGSHORE_TRY(mean_multiplier(o.in_scale, o.out_scale, count, m));
      for (std::uint32_t c = 0; c < o.channels; c++)
        put_code<Code>(out, c, requantise(sums[c], m, o.out_zero, o.lowest, o.highest, o.rounding));
    }
  }
  return {};
}

Status execute(const Pool& o, Execution& on) {
  return o.in.dtype == DType::i16 ? run<std::int16_t, std::int64_t>(o, on)
                                  : run<std::int8_t, std::int32_t>(o, on);
}

double cycles(const Pool& o, const Machine& m) {
  const bool max = o.function == Pool::Function::max;
  return vector_cycles(m, max ? vector_unit::max_pool : vector_unit::average_pool,
                       std::uint64_t{o.out_h} * o.out_w * o.channels * lanes_of(o.in),
                       std::uint64_t{o.kernel_h} * o.kernel_w);
}

}  // namespace

extern constinit const ExecutionDef execution_pool = {
    .instruction = &Pool::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
