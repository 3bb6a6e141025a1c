// The inner loops of convolution tiles. Input codes minus their zero point and weights are widened
// to int16, so that a product of pairs is exact in int32 on every path, and padding is a border of
// zeros.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "program/instructions/conv.hpp"

namespace longshore {

inline constexpr std::uint32_t conv_lanes = 16;  // output channels of one block of weights
inline constexpr std::uint32_t pixel_block = 4;

/// Kernel taps as runs of neighbouring input elements: one per tap, or one per kernel row if the
/// taps of a row lie side by side.
struct Segments {
  std::uint32_t count, length, pairs;  // pairs of elements, the last one filled up with weight 0
  std::vector<std::uint64_t> offset;   // of each, from the window's first element
};

/// The parameter block, read from SRAM once per instruction.
struct Parameters {
  std::vector<std::int32_t> bias;
  std::vector<Multiplier> multiplier;
  std::vector<float> real;

  Status read(const Conv&, const std::byte* sram);
};

inline std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

/// The loops of one instruction set.
struct ConvPath {
  /// acc[pixel][16] += over all segments; `pixels` of 4 window starts are real, the others repeat.
  void (*block)(const std::int16_t* const (&window)[pixel_block], const Segments&,
                const std::int16_t* weights, std::int32_t (&acc)[pixel_block][conv_lanes]);
  void (*depthwise)(const std::int16_t* window, const Segments&, const std::int16_t* weights,
                    std::uint32_t channels, std::int32_t* acc);
  /// Accumulators of channels first .. first + n of one pixel to codes.
  void (*finish)(const Conv&, const Parameters&, std::uint32_t first, std::uint32_t n,
                 const std::int32_t* acc, std::int8_t* out);
  std::int32_t (*dot)(const std::int16_t*, const std::int8_t*, std::uint32_t);
};

/// The fastest that this machine has; `portable`: the one of any machine.
ConvPath conv_path(bool portable);

}  // namespace longshore
