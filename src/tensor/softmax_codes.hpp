// Softmax of 8- and 16-bit codes. The reference, the CPU kernel and the simulator call these
// functions; docs/numbers.md states them as formulas. Sums are integers: their order does not
// matter.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensor/requantise.hpp"

namespace longshore {

/// e[d] = round_half_even(2^23 * exp(-d * scale)): by how many codes an element lies below the
/// greatest of its row.
struct SoftmaxTable {
  std::uint32_t e[256];
};

inline SoftmaxTable softmax_table(float scale) noexcept {
  SoftmaxTable t;
  for (int d = 0; d < 256; d++)
    t.e[d] = static_cast<std::uint32_t>(
        std::nearbyint(8388608.0 * std::exp(-static_cast<double>(d) * static_cast<double>(scale))));
  return t;
}

/// Of 16-bit codes, entries 2^shift codes apart with straight lines between them: e[i] =
/// round_half_even(2^23 * exp(-i * 2^shift * scale)), i = 0 .. 512. The shift is the least that
/// makes them reach 16, where exp is below 2^-23, or all 65,536 distances.
struct WideSoftmaxTable {
  std::uint32_t e[513];
  std::uint32_t shift = 0;

  /// At distance d = 0 .. 65535, on the line; 0 beyond the last entry.
  std::uint32_t at(std::uint32_t d) const noexcept {
    const std::uint32_t i = d >> shift, part = d & ((1u << shift) - 1);
    if (i >= 512) return i == 512 && part == 0 ? e[512] : 0;
    const std::uint32_t half = shift > 0 ? 1u << (shift - 1) : 0;
    const std::int64_t fall = std::int64_t{e[i]} - e[i + 1];
    return static_cast<std::uint32_t>(e[i] - ((fall * part + half) >> shift));
  }
};

inline WideSoftmaxTable wide_softmax_table(float scale) noexcept {
  WideSoftmaxTable t;
  const double s = static_cast<double>(scale);
  while (t.shift < 7 && 512.0 * (1u << t.shift) * s < 16) t.shift++;
  for (int i = 0; i <= 512; i++)
    t.e[i] = static_cast<std::uint32_t>(
        std::nearbyint(8388608.0 * std::exp(-(static_cast<double>(i) * (1u << t.shift)) * s)));
  return t;
}

/// The codes that a row ends in.
struct SoftmaxOutput {
  float scale = 1;
  std::int32_t zero_point = 0, lowest = -128, highest = 127;
};

inline std::int32_t softmax_code(std::uint32_t e, std::int64_t sum,
                                 const SoftmaxOutput& o) noexcept {
  const auto share = static_cast<float>(static_cast<double>(e) / static_cast<double>(sum));
  return quantise(share, o.scale, o.zero_point, o.lowest, o.highest);
}

/// One row of `count` codes that lie `stride` apart. In place is allowed.
template <class In, class Out>
void softmax_row(const In* x, Out* y, std::int64_t count, std::int64_t stride,
                 const SoftmaxTable& t, const SoftmaxOutput& o) noexcept {
  std::int32_t most = x[0], least = x[0];
  for (std::int64_t i = 1; i < count; i++) {
    most = std::max<std::int32_t>(most, x[i * stride]);
    least = std::min<std::int32_t>(least, x[i * stride]);
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; i++) sum += t.e[most - x[i * stride]];
  if (most - least >= count) {
    for (std::int64_t i = 0; i < count; i++)
      y[i * stride] = static_cast<Out>(softmax_code(t.e[most - x[i * stride]], sum, o));
    return;
  }
  Out codes[256];  // a long row repeats its codes: one division for each that may occur
  for (std::int32_t d = 0; d <= most - least; d++)
    codes[d] = static_cast<Out>(softmax_code(t.e[d], sum, o));
  for (std::int64_t i = 0; i < count; i++) y[i * stride] = codes[most - x[i * stride]];
}

/// The same of 16-bit codes.
template <class Out>
void wide_softmax_row(const std::int16_t* x, Out* y, std::int64_t count, std::int64_t stride,
                      const WideSoftmaxTable& t, const SoftmaxOutput& o) noexcept {
  std::int32_t most = x[0];
  for (std::int64_t i = 1; i < count; i++) most = std::max<std::int32_t>(most, x[i * stride]);
  const auto e = [&](std::int64_t i) {
    return t.at(static_cast<std::uint32_t>(most - x[i * stride]));
  };
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; i++) sum += e(i);
  for (std::int64_t i = 0; i < count; i++)
    y[i * stride] = static_cast<Out>(softmax_code(e(i), sum, o));
}

}  // namespace longshore
