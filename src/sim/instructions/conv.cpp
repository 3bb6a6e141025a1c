#include "program/instructions/conv.hpp"

#include <algorithm>
#include <cstring>

#include "sim/conv_paths.hpp"
#include "sim/conv_wide.hpp"
#include "sim/execution.hpp"

namespace longshore {
namespace executions {
namespace {

constexpr std::uint32_t lanes = conv_lanes;

/// The tile in Workspace::input: rows x columns x in_c, borders zero.
struct Padded {
  std::uint64_t rows, columns;
  std::uint64_t row_step, pixel_step;  // in elements
};

Padded widen(const Conv& c, const std::int8_t* sram, std::vector<std::int16_t>& input) {
  // Only what the windows reach; the bottom and right padding may be larger than that.
  const std::uint64_t reach_h =
      std::uint64_t{c.out_h - 1} * c.stride_h + std::uint64_t{c.kernel_h - 1} * c.dilation_h + 1;
  const std::uint64_t reach_w =
      std::uint64_t{c.out_w - 1} * c.stride_w + std::uint64_t{c.kernel_w - 1} * c.dilation_w + 1;
  Padded p{reach_h, reach_w, reach_w * c.in_c, c.in_c};
  const std::size_t size = static_cast<std::size_t>(p.rows * p.row_step) + 2 * lanes;
  if (input.size() < size) input.resize(size);
  const bool border = c.pad_top || c.pad_left || reach_h > c.pad_top + std::uint64_t{c.in_h} ||
                      reach_w > c.pad_left + std::uint64_t{c.in_w};
  if (border)
    std::fill_n(input.begin(), size, std::int16_t{0});
  else
    std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(size - 2 * lanes), 2 * lanes,
                std::int16_t{0});
  const std::int64_t last_y =
      std::min<std::int64_t>(c.in_h, static_cast<std::int64_t>(reach_h) - c.pad_top);
  const std::int64_t last_x =
      std::min<std::int64_t>(c.in_w, static_cast<std::int64_t>(reach_w) - c.pad_left);
  for (std::int64_t y = 0; y < last_y; y++)
    for (std::int64_t x = 0; x < last_x; x++) {
      const std::int8_t* from = sram + c.in.address +
                                static_cast<std::uint64_t>(y) * c.in.row_stride +
                                static_cast<std::uint64_t>(x) * c.in.pixel_stride;
      std::int16_t* to = input.data() + (static_cast<std::uint64_t>(y) + c.pad_top) * p.row_step +
                         (static_cast<std::uint64_t>(x) + c.pad_left) * p.pixel_step;
      const auto zero = static_cast<std::int16_t>(c.in_zero);
      if (c.in.dtype == DType::u8)
        for (std::uint32_t i = 0; i < c.in_c; i++)
          to[i] = static_cast<std::int16_t>(static_cast<std::uint8_t>(from[i]) - zero);
      else
        for (std::uint32_t i = 0; i < c.in_c; i++)
          to[i] = static_cast<std::int16_t>(from[i] - zero);
    }
  return p;
}

Segments segments_of(const Conv& c, const Padded& p) {
  Segments s;
  const bool joined = c.dilation_w == 1 && c.kernel_w > 1 && c.in_c % 16 != 0;
  s.length = joined ? c.kernel_w * c.in_c : c.in_c;
  s.count = joined ? c.kernel_h : c.kernel_h * c.kernel_w;
  s.pairs = (s.length + 1) / 2;
  for (std::uint32_t i = 0; i < c.kernel_h; i++)
    for (std::uint32_t j = 0; j < (joined ? 1 : c.kernel_w); j++)
      s.offset.push_back(std::uint64_t{i} * c.dilation_h * p.row_step +
                         std::uint64_t{j} * c.dilation_w * p.pixel_step);
  return s;
}

/// weights[block of 16 channels][segment][pair][channel][2]
void pack(const Conv& c, const Segments& s, const std::int8_t* sram,
          std::vector<std::int16_t>& weights) {
  const std::uint64_t blocks = (c.out_c + lanes - 1) / lanes;
  const std::uint64_t block_size = std::uint64_t{s.count} * s.pairs * lanes * 2;
  weights.resize(static_cast<std::size_t>(blocks * block_size));
  const std::uint32_t taps_per_segment = s.length / c.in_c;
  for (std::uint64_t b = 0; b < blocks; b++) {
    std::int16_t* block = weights.data() + b * block_size;
    if (s.length % 2 != 0 || (b + 1) * lanes > c.out_c)
      std::fill_n(block, block_size, std::int16_t{0});
    const std::uint32_t used =
        std::min<std::uint32_t>(lanes, c.out_c - static_cast<std::uint32_t>(b) * lanes);
    for (std::uint32_t o = 0; o < used; o++) {
      const std::int8_t* filter = sram + c.weights + (b * lanes + o) * c.weight_out_stride;
      for (std::uint32_t segment = 0; segment < s.count; segment++) {
        std::int16_t* to = block + std::uint64_t{segment} * s.pairs * lanes * 2 + o * 2;
        std::uint32_t k = 0;
        for (std::uint32_t t = 0; t < taps_per_segment; t++) {
          const std::int8_t* from =
              filter + (std::uint64_t{segment} * taps_per_segment + t) * c.weight_tap_stride;
          for (std::uint32_t i = 0; i < c.in_c; i++, k++)
            to[(k >> 1) * lanes * 2 + (k & 1)] = from[i];
        }
      }
    }
  }
}

struct Target {
  const Conv& c;
  std::int8_t* sram;
  ConvPath path;
  Parameters parameters;

  void load(std::uint64_t y, std::uint64_t x, std::uint32_t first, std::uint32_t n,
            std::int32_t* acc) const {
    if (c.accumulate)
      std::memcpy(acc, sram + accumulator(y, x, first), std::size_t{n} * 4);
    else
      std::fill_n(acc, n, 0);
  }
  void store(std::uint64_t y, std::uint64_t x, std::uint32_t first, std::uint32_t n,
             const std::int32_t* acc) const {
    if (c.finish)
      path.finish(c, parameters, first, n, acc,
                  sram + c.out.address + y * c.out.row_stride + x * c.out.pixel_stride + first);
    else
      std::memcpy(sram + accumulator(y, x, first), acc, std::size_t{n} * 4);
  }
  std::uint64_t accumulator(std::uint64_t y, std::uint64_t x, std::uint32_t first) const {
    return c.accumulators.address + y * c.accumulators.row_stride +
           x * c.accumulators.pixel_stride + std::uint64_t{first} * 4;
  }
};

void depthwise(const Conv& c, const Padded& p, const Target& target, Workspace& work) {
  Segments taps;
  taps.count = c.kernel_h * c.kernel_w;
  for (std::uint32_t i = 0; i < c.kernel_h; i++)
    for (std::uint32_t j = 0; j < c.kernel_w; j++)
      taps.offset.push_back(std::uint64_t{i} * c.dilation_h * p.row_step +
                            std::uint64_t{j} * c.dilation_w * p.pixel_step);
  work.weights.resize(std::size_t{taps.count} * c.out_c);
  for (std::uint32_t t = 0; t < taps.count; t++)
    for (std::uint32_t i = 0; i < c.out_c; i++)
      work.weights[std::size_t{t} * c.out_c + i] =
          target.sram[c.weights + std::uint64_t{t} * c.weight_tap_stride + i];
  work.accumulators.resize(c.out_c);
  for (std::uint32_t y = 0; y < c.out_h; y++)
    for (std::uint32_t x = 0; x < c.out_w; x++) {
      target.load(y, x, 0, c.out_c, work.accumulators.data());
      target.path.depthwise(work.input.data() + std::uint64_t{y} * c.stride_h * p.row_step +
                                std::uint64_t{x} * c.stride_w * p.pixel_step,
                            taps, work.weights.data(), c.out_c, work.accumulators.data());
      target.store(y, x, 0, c.out_c, work.accumulators.data());
    }
}

/// Without packing the weights, which would cost as much as the products.
void few_pixels(const Conv& c, const Padded& p, const Target& target, Workspace& work) {
  work.accumulators.resize(c.out_c);
  for (std::uint32_t y = 0; y < c.out_h; y++)
    for (std::uint32_t x = 0; x < c.out_w; x++) {
      const std::int16_t* window = work.input.data() + std::uint64_t{y} * c.stride_h * p.row_step +
                                   std::uint64_t{x} * c.stride_w * p.pixel_step;
      target.load(y, x, 0, c.out_c, work.accumulators.data());
      for (std::uint32_t o = 0; o < c.out_c; o++) {
        const std::int8_t* weights =
            target.sram + c.weights + std::uint64_t{o} * c.weight_out_stride;
        std::int32_t& sum = work.accumulators[o];
        for (std::uint32_t i = 0; i < c.kernel_h; i++)
          for (std::uint32_t j = 0; j < c.kernel_w; j++, weights += c.weight_tap_stride)
            sum = wrapping_add(
                sum, target.path.dot(window + std::uint64_t{i} * c.dilation_h * p.row_step +
                                         std::uint64_t{j} * c.dilation_w * p.pixel_step,
                                     weights, c.in_c));
      }
      target.store(y, x, 0, c.out_c, work.accumulators.data());
    }
}

Status execute(const Conv& c, Execution& on) {
  if (c.in.dtype == DType::i16) return execute_wide(c, on);
  auto* sram = reinterpret_cast<std::int8_t*>(on.sram);
  Workspace& work = on.workspace;
  const ConvPath chosen = conv_path(work.portable);
  const Padded p = widen(c, sram, work.input);
  Target target{c, sram, chosen, {}};
  if (c.finish) LONGSHORE_TRY(target.parameters.read(c, on.sram));
  if (c.depthwise) {
    depthwise(c, p, target, work);
    return {};
  }
  if (std::uint64_t{c.out_h} * c.out_w <= 2) {
    few_pixels(c, p, target, work);
    return {};
  }
  const Segments s = segments_of(c, p);
  pack(c, s, sram, work.weights);

  const std::uint64_t pixels = std::uint64_t{c.out_h} * c.out_w;
  const std::uint64_t block_size = std::uint64_t{s.count} * s.pairs * lanes * 2;
  // Pixels outside, channel blocks inside: a window stays in cache while the weights pass.
  for (std::uint64_t first = 0; first < pixels; first += pixel_block) {
    const std::int16_t* window[pixel_block];
    std::uint64_t ys[pixel_block], xs[pixel_block];
    const std::uint64_t n = std::min<std::uint64_t>(pixel_block, pixels - first);
    for (std::uint64_t i = 0; i < pixel_block; i++) {
      const std::uint64_t pixel = first + std::min(i, n - 1);
      ys[i] = pixel / c.out_w;
      xs[i] = pixel % c.out_w;
      window[i] =
          work.input.data() + ys[i] * c.stride_h * p.row_step + xs[i] * c.stride_w * p.pixel_step;
    }
    for (std::uint32_t o = 0, b = 0; o < c.out_c; o += lanes, b++) {
      const std::uint32_t used = std::min(lanes, c.out_c - o);
      std::int32_t acc[pixel_block][lanes] = {};
      for (std::uint64_t i = 0; i < n; i++) target.load(ys[i], xs[i], o, used, acc[i]);
      chosen.block(window, s, work.weights.data() + b * block_size, acc);
      for (std::uint64_t i = 0; i < n; i++) target.store(ys[i], xs[i], o, used, acc[i]);
    }
  }
  return {};
}

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

/// Pixels that the array works for: stripes of at most stripe_max, each at least stripe_min.
std::uint64_t stripes(const Machine& machine, std::uint64_t pixels) {
  const std::uint64_t most = std::max<std::uint64_t>(machine.stripe_max, 1);
  const std::uint64_t rest = pixels % most;
  return pixels / most * most + (rest > 0 ? std::max<std::uint64_t>(rest, machine.stripe_min) : 0);
}

/// Cycles of a kernel step for all micro-blocks of an output: a width and height of pixels each, or
/// so many pixels of one row where an even row is all there is.
double micro_step_cycles(const Machine& machine, const Conv& c) {
  const std::uint64_t pixels = std::uint64_t{machine.micro_width} * machine.micro_height;
  const bool row = c.out_h == 1 && c.kernel_h == 1 && c.out_w % 2 == 0;
  const std::uint64_t blocks =
      row ? divide_up(c.out_w, pixels)
          : divide_up(c.out_w, machine.micro_width) * divide_up(c.out_h, machine.micro_height);
  return static_cast<double>(stripes(machine, blocks * pixels)) * machine.step_cycles /
         static_cast<double>(pixels);
}

/// Ethos-U (ethos-u-vela, npu_performance.py): a step takes one tap of many input channels or
/// several taps of few, whichever gives fewer steps.
double micro_block_cycles(const Machine& machine, const Conv& c) {
  const std::uint64_t taps = std::uint64_t{c.kernel_h} * c.kernel_w, step = machine.step_cycles;
  const std::uint64_t by_depth = taps * divide_up(c.in_c, machine.mac_rows * step),
                      by_taps = divide_up(taps, step) * divide_up(c.in_c, machine.mac_rows);
  return static_cast<double>(std::min(by_depth, by_taps) *
                             divide_up(c.out_c, machine.mac_columns)) *
         micro_step_cycles(machine, c);
}

double depthwise_cycles(const Machine& machine, const Conv& c) {
  const std::uint64_t taps = std::uint64_t{c.kernel_h} * c.kernel_w,
                      channels = divide_up(c.out_c, machine.depthwise_lanes);
  if (machine.dataflow == Dataflow::micro_block)
    return static_cast<double>(channels * divide_up(taps, std::uint64_t{machine.depthwise_taps} *
                                                              machine.step_cycles)) *
           micro_step_cycles(machine, c);
  return static_cast<double>(channels * divide_up(taps, machine.depthwise_taps) * c.out_h *
                             c.out_w);
}

/// Winograd's F(2 x 2, 3 x 3), with edges that waste nothing, as NVDLA's own estimate counts.
bool by_winograd(const Machine& machine, const Conv& c) {
  return machine.winograd && c.kernel_h == 3 && c.kernel_w == 3 && c.stride_h == 1 &&
         c.stride_w == 1 && c.dilation_h == 1 && c.dilation_w == 1;
}

double block_cycles(const Machine& machine, const Conv& c) {
  const std::uint64_t in_grain = machine.input_grain ? machine.input_grain : machine.mac_rows,
                      out_grain = machine.output_grain ? machine.output_grain : machine.mac_columns;
  std::uint64_t inputs = divide_up(c.in_c, in_grain) * c.kernel_h * c.kernel_w;
  if (machine.packs_narrow_input && c.in_c < in_grain)
    inputs = divide_up(std::uint64_t{c.in_c} * c.kernel_w, in_grain) * c.kernel_h;
  const double work = static_cast<double>(inputs * in_grain) *
                      static_cast<double>(divide_up(c.out_c, out_grain) * out_grain) *
                      static_cast<double>(stripes(machine, std::uint64_t{c.out_h} * c.out_w));
  const double array = static_cast<double>(machine.mac_rows) * machine.mac_columns;
  return work / array * (by_winograd(machine, c) ? 16.0 / 36 : 1);
}

double cycles(const Conv& c, const Machine& m) { return conv_cycles(m, c); }

}  // namespace

extern constinit const ExecutionDef execution_conv = {
    .instruction = &Conv::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace executions

double conv_cycles(const Machine& machine, const Conv& c) noexcept {
  const std::uint64_t pixels = std::uint64_t{c.out_h} * c.out_w;
  double cycles = 0;
  if (c.depthwise) {
    cycles = executions::depthwise_cycles(machine, c);
  } else if (machine.dataflow == Dataflow::micro_block) {
    cycles = executions::micro_block_cycles(machine, c);
  } else if (machine.dataflow == Dataflow::block) {
    cycles = executions::block_cycles(machine, c);
  } else {
    const std::uint64_t k = std::uint64_t{c.kernel_h} * c.kernel_w * c.in_c;
    cycles = machine.overlaps_folds
                 ? systolic_overlapped(machine, pixels, c.out_c, k)
                 : static_cast<double>(systolic_cycles(machine.dataflow, machine.mac_rows,
                                                       machine.mac_columns, pixels, c.out_c, k));
  }
  const double drain =
      machine.drain_elements_per_cycle > 0
          ? static_cast<double>(pixels * c.out_c) / machine.drain_elements_per_cycle
          : 0;
  const double rate = machine.mac_rate(c.in.dtype, c.weight_dtype);
  return machine.mac_setup_cycles + std::max(rate > 0 ? cycles / rate : cycles, drain);
}

}  // namespace longshore
