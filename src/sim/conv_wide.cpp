#include "sim/conv_wide.hpp"

#include <algorithm>
#include <cstring>

#include "sim/codes.hpp"
#include "sim/conv_paths.hpp"

namespace longshore {
namespace {

/// Products of so many elements by 8-bit weights fit in int32: 2^15 * 2^7 * 2^5 is 2^27.
constexpr std::size_t block = 32;

std::int64_t dot(const std::int16_t* x, const std::int16_t* w, std::size_t n, bool narrow) {
  std::int64_t sum = 0;
  if (narrow) {
    for (std::size_t k = 0; k < n; k += block) {
      std::int32_t part = 0;
      for (std::size_t i = 0; i < block; i++) part += x[k + i] * w[k + i];
      sum += part;
    }
  } else {
    for (std::size_t k = 0; k < n; k++) sum += std::int64_t{x[k]} * w[k];
  }
  return sum;
}

class WideConv {
 public:
  WideConv(const Conv& c, Execution& on)
      : c_(c),
        sram_(on.sram),
        work_(on.workspace),
        taps_(std::size_t{c.kernel_h} * c.kernel_w),
        length_((taps_ * c.in_c + block - 1) / block * block) {}

  Status run() {
    if (c_.finish) LONGSHORE_TRY(parameters_.read(c_, sram_));
    pack();
    work_.input.assign(length_, 0);
    std::vector<std::uint64_t> sums(c_.out_c);  // unsigned: wraps without undefined behaviour
    for (std::uint32_t y = 0; y < c_.out_h; y++)
      for (std::uint32_t x = 0; x < c_.out_w; x++) {
        window(y, x);
        for (std::uint32_t o = 0; o < c_.out_c; o++)
          sums[o] = static_cast<std::uint64_t>(c_.depthwise ? channel(o) : filter(o));
        store(y, x, sums);
      }
    return {};
  }

 private:
  /// [out channel][tap][in channel], or [tap][channel] of a depthwise one, widened.
  void pack() {
    const std::size_t filters = c_.depthwise ? 1 : c_.out_c;
    work_.weights.assign(filters * length_, 0);
    for (std::size_t o = 0; o < filters; o++)
      for (std::size_t t = 0; t < taps_; t++) {
        const std::byte* from =
            sram_ + c_.weights + o * c_.weight_out_stride + t * c_.weight_tap_stride;
        std::int16_t* to = work_.weights.data() + o * length_ + t * c_.in_c;
        visit_type(CodeTypes{}, c_.weight_dtype, [&]<class T>() {
          for (std::size_t i = 0; i < c_.in_c; i++) to[i] = code_at<T>(from, i);
        });
      }
  }

  /// The codes below the window, 0 outside the tile.
  void window(std::uint32_t y, std::uint32_t x) {
    std::int16_t* to = work_.input.data();
    for (std::int64_t i = 0; i < c_.kernel_h; i++)
      for (std::int64_t j = 0; j < c_.kernel_w; j++, to += c_.in_c) {
        const std::int64_t row = std::int64_t{y} * c_.stride_h + i * c_.dilation_h - c_.pad_top,
                           column = std::int64_t{x} * c_.stride_w + j * c_.dilation_w - c_.pad_left;
        if (row < 0 || column < 0 || row >= c_.in_h || column >= c_.in_w)
          std::fill_n(to, c_.in_c, std::int16_t{0});
        else
          std::memcpy(to,
                      pixel(sram_, c_.in, static_cast<std::uint64_t>(row),
                            static_cast<std::uint64_t>(column)),
                      std::size_t{c_.in_c} * 2);
      }
  }

  std::int64_t filter(std::size_t o) const {
    return dot(work_.input.data(), work_.weights.data() + o * length_, length_,
               c_.weight_dtype == DType::i8);
  }

  std::int64_t channel(std::size_t o) const {
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < taps_; t++)
      sum += std::int64_t{work_.input[t * c_.in_c + o]} * work_.weights[t * c_.in_c + o];
    return sum;
  }

  void store(std::uint32_t y, std::uint32_t x, std::vector<std::uint64_t>& sums) const {
    std::byte* kept = pixel(sram_, c_.accumulators, y, x);
    if (c_.accumulate)
      for (std::size_t o = 0; o < sums.size(); o++) sums[o] += code_at<std::uint64_t>(kept, o);
    if (!c_.finish) {
      std::memcpy(kept, sums.data(), sums.size() * sizeof sums[0]);
      return;
    }
    std::byte* out = pixel(sram_, c_.out, y, x);
    for (std::size_t o = 0; o < sums.size(); o++) {
      const auto sum = static_cast<std::int64_t>(
          sums[o] + static_cast<std::uint64_t>(std::int64_t{parameters_.bias[o]}));
      const std::int32_t code = requantise(sum, parameters_.multiplier[o], c_.out_zero, c_.lowest,
                                           c_.highest, c_.rounding);
      visit_type(CodeTypes{}, c_.out.dtype, [&]<class T>() { put_code<T>(out, o, code); });
    }
  }

  const Conv& c_;
  std::byte* sram_;
  Workspace& work_;
  const std::size_t taps_, length_;
  Parameters parameters_;
};

}  // namespace

Status execute_wide(const Conv& c, Execution& on) { return WideConv(c, on).run(); }

}  // namespace longshore
