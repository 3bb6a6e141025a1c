#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_pool;
}
namespace vector_unit {
extern const VectorFunction max_pool, average_pool;
}

/// Windows as in Conv, per channel. Queue vector.
/// max: the greatest code inside the tile, clamped to lowest..highest.
/// average: requantise(sum of (in - in_zero) inside the tile, make_multiplier(in_scale, 1,
/// out_scale * count), out_zero, lowest, highest, rounding); count is the number of taps inside the
/// tile or, if count_include_pad, inside the tile with its padding.
struct Pool {
  static constexpr const InstructionDef& def = instructions::instruction_pool;
  enum class Function : std::uint8_t { max, average };
  Function function = Function::max;
  bool count_include_pad = false;
  Tile in, out;
  std::uint32_t in_h = 1, in_w = 1, channels = 1;
  std::uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1,
                dilation_w = 1;
  std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::uint32_t out_h = 1, out_w = 1;
  float in_scale = 1, out_scale = 1;  // average only
  std::int32_t in_zero = 0, out_zero = 0, lowest = -128, highest = 127;
  Rounding rounding = Rounding::f32_even;
  bool operator==(const Pool&) const = default;
};

}  // namespace longshore
