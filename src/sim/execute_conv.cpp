// Convolution tiles. Input codes minus their zero point and weights are widened to int16, so that a
// product of pairs is exact in int32 on every path, and padding is a border of zeros.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/execute.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define LONGSHORE_SIM_AVX2 [[gnu::target("avx2")]]
#endif

namespace longshore {
namespace {

constexpr std::uint32_t lanes = 16;  // output channels of one block of weights
constexpr std::uint32_t pixel_block = 4;

/// The tile in Workspace::input: rows x columns x in_c, borders zero.
struct Padded {
  std::uint64_t rows, columns;
  std::uint64_t row_step, pixel_step;  // in elements
};

/// Kernel taps as runs of neighbouring input elements: one per tap, or one per kernel row if the
/// taps of a row lie side by side.
struct Segments {
  std::uint32_t count, length, pairs;  // pairs of elements, the last one filled up with weight 0
  std::vector<std::uint64_t> offset;   // of each, from the window's first element
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
      for (std::uint32_t i = 0; i < c.in_c; i++) to[i] = static_cast<std::int16_t>(from[i] - zero);
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

/// acc[pixel][16] += over all segments; `pixels` of 4 window starts are real, the others repeat.
using Block = void (*)(const std::int16_t* const (&window)[pixel_block], const Segments&,
                       const std::int16_t* weights, std::int32_t (&acc)[pixel_block][lanes]);

void block_generic(const std::int16_t* const (&window)[pixel_block], const Segments& s,
                   const std::int16_t* weights, std::int32_t (&acc)[pixel_block][lanes]) {
  for (std::uint32_t p = 0; p < pixel_block; p++) {
    std::uint32_t sum[lanes];  // unsigned: wraps without undefined behaviour
    for (std::uint32_t o = 0; o < lanes; o++) sum[o] = static_cast<std::uint32_t>(acc[p][o]);
    const std::int16_t* w = weights;
    for (std::uint32_t segment = 0; segment < s.count; segment++) {
      const std::int16_t* in = window[p] + s.offset[segment];
      for (std::uint32_t k = 0; k < s.pairs; k++, w += lanes * 2)
        for (std::uint32_t o = 0; o < lanes; o++)
          sum[o] += static_cast<std::uint32_t>(in[2 * k] * w[2 * o] + in[2 * k + 1] * w[2 * o + 1]);
    }
    for (std::uint32_t o = 0; o < lanes; o++) acc[p][o] = static_cast<std::int32_t>(sum[o]);
  }
}

void depthwise_generic(const std::int16_t* window, const Segments& s, const std::int16_t* weights,
                       std::uint32_t channels, std::int32_t* acc) {
  for (std::uint32_t t = 0; t < s.count; t++) {
    const std::int16_t *in = window + s.offset[t], *w = weights + std::uint64_t{t} * channels;
    for (std::uint32_t i = 0; i < channels; i++)
      acc[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(acc[i]) +
                                         static_cast<std::uint32_t>(in[i] * w[i]));
  }
}

/// The parameter block, read from SRAM once per instruction.
struct Parameters {
  std::vector<std::int32_t> bias;
  std::vector<Multiplier> multiplier;
  std::vector<float> real;

  Status read(const Conv& c, const std::int8_t* sram) {
    bias.resize(c.out_c);
    multiplier.resize(c.out_c);
    real.resize(c.out_c);
    for (std::uint32_t i = 0; i < c.out_c; i++) {
      ChannelParameters p;
      std::memcpy(static_cast<void*>(&p), sram + c.parameters + i * sizeof p, sizeof p);
      if (!std::isfinite(p.real))
        return Status::error(Code::bad_model,
                             "conv: the multiplier of channel %u is not a finite number", i);
      bias[i] = p.bias;
      real[i] = p.real;
      multiplier[i] = {p.real, p.fixed, std::clamp(p.exponent, -31, 30)};
    }
    return {};
  }
};

std::int32_t add(std::int32_t a, std::int32_t b) {  // wraps
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

/// Accumulators of channels first .. first + n of one pixel to codes.
void finish_generic(const Conv& c, const Parameters& p, std::uint32_t first, std::uint32_t n,
                    const std::int32_t* acc, std::int8_t* out) {
  for (std::uint32_t i = 0; i < n; i++)
    out[i] =
        static_cast<std::int8_t>(requantise(add(acc[i], p.bias[first + i]), p.multiplier[first + i],
                                            c.out_zero, c.lowest, c.highest, c.rounding));
}

std::int32_t dot_generic(const std::int16_t* x, const std::int8_t* w, std::uint32_t n) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < n; i++) sum += static_cast<std::uint32_t>(x[i] * w[i]);
  return static_cast<std::int32_t>(sum);
}

#if defined(LONGSHORE_SIM_AVX2)
LONGSHORE_SIM_AVX2 inline void multiply_pair(const std::int16_t* in, __m256i w0, __m256i w1,
                                             __m256i (&sum)[2]) {
  std::int32_t pair;
  std::memcpy(&pair, in, 4);
  const __m256i x = _mm256_set1_epi32(pair);
  sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(x, w0));
  sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(x, w1));
}

LONGSHORE_SIM_AVX2 inline __m256i wide_product(const std::int16_t* a, const std::int16_t* b) {
  const auto* pa = reinterpret_cast<const __m128i*>(a);
  const auto* pb = reinterpret_cast<const __m128i*>(b);
  return _mm256_mullo_epi32(_mm256_cvtepi16_epi32(_mm_loadu_si128(pa)),
                            _mm256_cvtepi16_epi32(_mm_loadu_si128(pb)));
}

LONGSHORE_SIM_AVX2 void block_avx2(const std::int16_t* const (&window)[pixel_block],
                                   const Segments& s, const std::int16_t* weights,
                                   std::int32_t (&acc)[pixel_block][lanes]) {
  __m256i sum[pixel_block][2];
  for (std::uint32_t p = 0; p < pixel_block; p++)
    for (int h = 0; h < 2; h++)
      sum[p][h] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&acc[p][8 * h]));
  const auto* w = reinterpret_cast<const __m256i*>(weights);
  for (std::uint32_t segment = 0; segment < s.count; segment++) {
    const std::uint64_t offset = s.offset[segment];
    const std::int16_t *in0 = window[0] + offset, *in1 = window[1] + offset,
                       *in2 = window[2] + offset, *in3 = window[3] + offset;
    for (std::uint32_t k = 0; k < s.pairs; k++, w += 2) {
      const __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);
      multiply_pair(in0 + 2 * k, w0, w1, sum[0]);
      multiply_pair(in1 + 2 * k, w0, w1, sum[1]);
      multiply_pair(in2 + 2 * k, w0, w1, sum[2]);
      multiply_pair(in3 + 2 * k, w0, w1, sum[3]);
    }
  }
  for (std::uint32_t p = 0; p < pixel_block; p++)
    for (int h = 0; h < 2; h++)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(&acc[p][8 * h]), sum[p][h]);
}

LONGSHORE_SIM_AVX2 void depthwise_avx2(const std::int16_t* window, const Segments& s,
                                       const std::int16_t* weights, std::uint32_t channels,
                                       std::int32_t* acc) {
  std::uint32_t i = 0;
  for (; i + 16 <= channels; i += 16) {
    auto* to = reinterpret_cast<__m256i*>(acc + i);
    __m256i sum0 = _mm256_loadu_si256(to), sum1 = _mm256_loadu_si256(to + 1);
    for (std::uint32_t t = 0; t < s.count; t++) {
      const std::int16_t *in = window + s.offset[t] + i,
                         *w = weights + std::uint64_t{t} * channels + i;
      sum0 = _mm256_add_epi32(sum0, wide_product(in, w));
      sum1 = _mm256_add_epi32(sum1, wide_product(in + 8, w + 8));
    }
    _mm256_storeu_si256(to, sum0);
    _mm256_storeu_si256(to + 1, sum1);
  }
  for (; i < channels; i++)
    for (std::uint32_t t = 0; t < s.count; t++)
      acc[i] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(acc[i]) +
          static_cast<std::uint32_t>(window[s.offset[t] + i] *
                                     weights[std::uint64_t{t} * channels + i]));
}

/// requantise in mode f32_even, eight at a time: the same float operations in the same order. The
/// conversion rounds half to even, as nearbyint does in the default rounding direction.
LONGSHORE_SIM_AVX2 void finish_avx2(const Conv& c, const Parameters& p, std::uint32_t first,
                                    std::uint32_t n, const std::int32_t* acc, std::int8_t* out) {
  std::uint32_t i = 0;
  if (c.rounding == Rounding::f32_even) {
    const __m256 low = _mm256_set1_ps(static_cast<float>(c.lowest - c.out_zero));
    const __m256 high = _mm256_set1_ps(static_cast<float>(c.highest - c.out_zero));
    const __m256i zero = _mm256_set1_epi32(c.out_zero);
    for (; i + 8 <= n; i += 8) {
      const __m256i sum = _mm256_add_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(acc + i)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&p.bias[first + i])));
      __m256 y = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(&p.real[first + i]));
      y = _mm256_min_ps(_mm256_max_ps(y, low), high);
      const __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(y), zero);
      const __m128i words =
          _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), _mm_packs_epi16(words, words));
    }
  }
  finish_generic(c, p, first + i, n - i, acc + i, out + i);
}

LONGSHORE_SIM_AVX2 std::int32_t dot_avx2(const std::int16_t* x, const std::int8_t* w,
                                         std::uint32_t n) {
  __m256i sum = _mm256_setzero_si256();
  std::uint32_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i wide =
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + i)));
    sum = _mm256_add_epi32(
        sum, _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i)), wide));
  }
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  const __m128i one = _mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1));
  return add(_mm_cvtsi128_si32(one), dot_generic(x + i, w + i, n - i));
}
#endif

struct Path {
  Block block;
  void (*depthwise)(const std::int16_t*, const Segments&, const std::int16_t*, std::uint32_t,
                    std::int32_t*);
  void (*finish)(const Conv&, const Parameters&, std::uint32_t, std::uint32_t, const std::int32_t*,
                 std::int8_t*);
  std::int32_t (*dot)(const std::int16_t*, const std::int8_t*, std::uint32_t);
};

Path path([[maybe_unused]] bool portable) {
#if defined(LONGSHORE_SIM_AVX2)
  if (!portable && __builtin_cpu_supports("avx2"))
    return {block_avx2, depthwise_avx2, finish_avx2, dot_avx2};
#endif
  return {block_generic, depthwise_generic, finish_generic, dot_generic};
}

struct Target {
  const Conv& c;
  std::int8_t* sram;
  Path path;
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
            sum = add(sum, target.path.dot(window + std::uint64_t{i} * c.dilation_h * p.row_step +
                                               std::uint64_t{j} * c.dilation_w * p.pixel_step,
                                           weights, c.in_c));
      }
      target.store(y, x, 0, c.out_c, work.accumulators.data());
    }
}

}  // namespace

Status execute_conv(const Conv& c, std::int8_t* sram, Workspace& work) noexcept {
  const Path chosen = path(work.portable);
  const Padded p = widen(c, sram, work.input);
  Target target{c, sram, chosen, {}};
  if (c.finish) LONGSHORE_TRY(target.parameters.read(c, sram));
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

}  // namespace longshore
