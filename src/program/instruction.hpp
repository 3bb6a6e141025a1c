// The NPU's instruction set. One instruction works on one tile. Every number is plain: an SRAM
// address counts bytes from the start of the core's SRAM, a stride counts bytes. Tiles are NHWC
// with batch 1: element (y, x, c) lies at address + y * row_stride + x * pixel_stride + c (times 4
// for accumulators) and is an int8 unless stated. docs/sim.md is the chapter.
#pragma once
#include <cstdint>
#include <variant>

#include "tensor/requantise.hpp"

namespace longshore {

/// The NPU's in-order queues; the CPU's steps are a fifth. Each core has an engine of its own per
/// queue: instructions of one queue are ordered among those of the same core only.
enum class Queue : std::uint8_t { dma_in, dma_out, mac, vector };
inline constexpr int queue_count = 4;
const char* name(Queue) noexcept;

/// Where a DMA's far side lies; its near side is the core's SRAM.
enum class Dram : std::uint8_t { arena, constants };

/// Extents above this are refused.
inline constexpr std::uint32_t max_extent = 65535;

/// Bytes of a tile in SRAM; height, width and channels stand beside it in the instruction.
struct Tile {
  std::uint32_t address = 0, row_stride = 0, pixel_stride = 0;
  bool operator==(const Tile&) const = default;
};

/// What the MAC array's drain reads per output channel: parameter blocks in SRAM are arrays of it.
/// y = requantise(accumulator + bias, {real, fixed, exponent}, ...).
struct ChannelParameters {
  std::int32_t bias = 0;
  float real = 1;
  std::int32_t fixed = 1 << 30;
  std::int32_t exponent = 1;
  bool operator==(const ChannelParameters&) const = default;
};

/// What a role tells the verifier, `inject` and a printer about an operand.
enum class Role : std::uint8_t { address, stride, extent, number, flag, scale, semaphore };

/// Moves count[0] * count[1] * count[2] runs of run_bytes; run (i, j, k) is at
/// address + i * stride[0] + j * stride[1] + k * stride[2] on each side. Queue dma_in: DRAM to
/// SRAM; queue dma_out: SRAM to the arena (constants cannot be written). A stride of 0 on the
/// source broadcasts. A layout change is a matter of strides: NCHW to NHWC is run_bytes = 1, count
/// = {C, H, W}, dram_stride = {H * W, W, 1}, sram_stride = {1, row, pixel}.
struct Dma {
  Dram dram = Dram::arena;
  std::uint64_t dram_address = 0;  // bytes from the start of the arena or the constants
  std::uint64_t dram_stride[3] = {};
  std::uint32_t sram_address = 0;
  std::uint32_t sram_stride[3] = {};
  std::uint32_t count[3] = {1, 1, 1};
  std::uint32_t run_bytes = 0;
  bool operator==(const Dma&) const = default;
};

/// Writes `value` into count[0] * count[1] * count[2] runs of run_bytes. Queue dma_in or vector.
struct Fill {
  std::uint32_t address = 0;
  std::uint32_t stride[3] = {};
  std::uint32_t count[3] = {1, 1, 1};
  std::uint32_t run_bytes = 0;
  std::int8_t value = 0;
  bool operator==(const Fill&) const = default;
};

/// SRAM to SRAM, as Dma but on the vector queue. The regions must not overlap.
struct Copy {
  std::uint32_t from = 0, to = 0;
  std::uint32_t from_stride[3] = {}, to_stride[3] = {};
  std::uint32_t count[3] = {1, 1, 1};
  std::uint32_t run_bytes = 0;
  bool operator==(const Copy&) const = default;
};

/// Convolution of one tile; gemm is a 1x1 kernel with height 1 and width m; a grouped convolution
/// is one instruction per group. Queue mac.
///   a(y, x, o) = start + sum over (i, j, c) of (in(y * stride_h + i * dilation_h - pad_top,
///                x * stride_w + j * dilation_w - pad_left, c) - in_zero) * w(o, i, j, c)
/// where taps outside the input tile contribute 0, start = the accumulator in SRAM if `accumulate`,
/// else 0. If `finish`: out = requantise(a + bias(o), multiplier(o), out_zero, lowest, highest,
/// rounding) as int8; otherwise a is stored into the accumulator region as int32.
/// depthwise: in_c == out_c, and w(o, i, j, c) counts for c == o only.
struct Conv {
  bool depthwise = false, accumulate = false, finish = true;
  Tile in;
  std::uint32_t in_h = 1, in_w = 1, in_c = 1;
  std::int32_t in_zero = 0;
  std::uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1,
                dilation_w = 1;
  /// Virtual padding at the tile's own edges. The windows must fit:
  /// (out_h - 1) * stride_h + (kernel_h - 1) * dilation_h + 1 <= pad_top + in_h + pad_bottom.
  std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  /// int8, zero point 0. w(o, i, j, c) at weights + o * weight_out_stride +
  /// (i * kernel_w + j) * weight_tap_stride + c. depthwise: w(c, i, j) at weights +
  /// (i * kernel_w + j) * weight_tap_stride + c; weight_out_stride is unused and 0.
  std::uint32_t weights = 0, weight_out_stride = 0, weight_tap_stride = 0;
  std::uint32_t parameters = 0;  // ChannelParameters[out_c]; read if `finish`
  Tile accumulators;             // int32; read if `accumulate`, written unless `finish`
  Tile out;                      // int8; written if `finish`
  std::uint32_t out_h = 1, out_w = 1, out_c = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
  Rounding rounding = Rounding::f32_even;
  bool operator==(const Conv&) const = default;
};

/// out = quantise(dequantise(a) op dequantise(b), out_scale, out_zero, lowest, highest) in float32.
/// Strides of 0 broadcast; *_channel_stride is 1, or 0 for one value over all channels. Queue
/// vector.
struct Eltwise {
  enum class Function : std::uint8_t { add, subtract, multiply };
  Function function = Function::add;
  Tile a, b, out;
  std::uint32_t a_channel_stride = 1, b_channel_stride = 1;
  std::uint32_t height = 1, width = 1, channels = 1;
  float a_scale = 1, b_scale = 1, out_scale = 1;
  std::int32_t a_zero = 0, b_zero = 0, out_zero = 0, lowest = -128, highest = 127;
  bool operator==(const Eltwise&) const = default;
};

/// out = table[in + 128], 256 int8 entries in SRAM. Queue vector. In place is allowed.
struct Table {
  Tile in, out;
  std::uint32_t height = 1, width = 1, channels = 1;
  std::uint32_t table = 0;
  bool operator==(const Table&) const = default;
};

/// out = quantise(dequantise(in, in_scale, in_zero), out_scale, out_zero, lowest, highest).
/// Queue vector. In place is allowed.
struct Requantise {
  Tile in, out;
  std::uint32_t height = 1, width = 1, channels = 1;
  float in_scale = 1, out_scale = 1;
  std::int32_t in_zero = 0, out_zero = 0, lowest = -128, highest = 127;
  bool operator==(const Requantise&) const = default;
};

/// Windows as in Conv, per channel. Queue vector.
/// max: the greatest code inside the tile, clamped to lowest..highest.
/// average: requantise(sum of (in - in_zero) inside the tile, make_multiplier(in_scale, 1,
/// out_scale * count), out_zero, lowest, highest, rounding); count is the number of taps inside the
/// tile or, if count_include_pad, inside the tile with its padding.
struct Pool {
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

/// Mean over height and width, possibly of several tiles. s(c) = start + sum of (in - in_zero),
/// where start = the int32 at accumulators + 4 * c if `accumulate`, else 0. If `finish`: out(c) at
/// out + c = requantise(s, make_multiplier(in_scale, 1, out_scale * divisor), out_zero, lowest,
/// highest, rounding); otherwise s is stored into the accumulators. Queue vector.
struct Reduce {
  bool accumulate = false, finish = true;
  Tile in;
  std::uint32_t height = 1, width = 1, channels = 1;
  std::int32_t in_zero = 0;
  std::uint32_t accumulators = 0, out = 0;
  std::uint32_t divisor = 1;  // elements of the whole mean
  float in_scale = 1, out_scale = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
  Rounding rounding = Rounding::f32_even;
  bool operator==(const Reduce&) const = default;
};

/// Nearest neighbour: out(y, x, c) = in(row(y), column(x), c). factor_h > 0: row(y) =
/// (y + phase_h) / factor_h; factor_h == 0: row(y) is the uint16 (little endian) at
/// rows + 2 * y in SRAM; columns likewise. Rows and columns count inside the tile. Queue vector.
struct Resize {
  Tile in, out;
  std::uint32_t in_h = 1, in_w = 1, channels = 1, out_h = 1, out_w = 1;
  std::uint32_t factor_h = 1, factor_w = 1, phase_h = 0, phase_w = 0;
  std::uint32_t rows = 0, columns = 0;
  bool operator==(const Resize&) const = default;
};

/// Blocks the engine until the semaphore counts at least `count`, then subtracts it. A semaphore
/// has one engine (or the CPU) that signals it and one that waits for it; it is 0 at the start and
/// must be 0 at the end. Any queue.
struct Wait {
  std::uint32_t semaphore = 0, count = 1;
  bool operator==(const Wait&) const = default;
};

/// Adds `count` when every earlier instruction of the engine is done. Any queue.
struct Signal {
  std::uint32_t semaphore = 0, count = 1;
  bool operator==(const Signal&) const = default;
};

/// A time stamp for the profile: the engine begins or ends the instruction's layer. Any queue.
struct Mark {
  bool begin = true;
  bool operator==(const Mark&) const = default;
};

/// The last instruction of an engine (queue and core). May be left out.
struct End {
  bool operator==(const End&) const = default;
};

using Operation = std::variant<Dma, Fill, Copy, Conv, Eltwise, Table, Requantise, Pool, Reduce,
                               Resize, Wait, Signal, Mark, End>;
inline constexpr int operation_count = 14;

struct Instruction {
  Queue queue = Queue::dma_in;  // must be that of the list it stands in
  std::uint8_t core = 0;
  std::uint32_t layer = 0xffffffffu;  // into Program::layers, or no_index
  Operation operation;
  bool operator==(const Instruction&) const = default;
};

/// The operation's name as listings print it: dma, conv, wait, ...
const char* name(const Operation&) noexcept;

}  // namespace longshore
