#pragma once
#include <cstring>

#include "cpu/support/window.hpp"

namespace longshore::cpu {

/// A plane copied with its padding, each row split into `stride` phases so that the inputs of
/// neighbouring outputs are neighbours: column c lies in phase c % stride at c / stride.
class Phases {
 public:
  explicit Phases(const Window& w) : w_(w) {
    const std::int64_t width =
        (w.columns.out - 1) * w.columns.stride + (w.columns.kernel - 1) * w.columns.dilation + 1;
    height_ = (w.rows.out - 1) * w.rows.stride + (w.rows.kernel - 1) * w.rows.dilation + 1;
    phase_ = (width + w.columns.stride - 1) / w.columns.stride;
    phase_ = std::max(
        phase_, w.columns.out + (w.columns.kernel - 1) * w.columns.dilation / w.columns.stride);
  }
  std::int64_t elements() const { return height_ * phase_ * w_.columns.stride; }

  /// The place of tap (r, s) of the first output of output row `row`.
  std::int64_t at(std::int64_t row, std::int64_t r, std::int64_t s) const {
    const std::int64_t column = s * w_.columns.dilation;
    return ((row * w_.rows.stride + r * w_.rows.dilation) * w_.columns.stride +
            column % w_.columns.stride) *
               phase_ +
           column / w_.columns.stride;
  }

  /// Copies one input plane; To is made from each element by `load`.
  template <class From, class To, class Load>
  void fill(const From* x, To* to, To padding, Load&& load) const {
    const std::int64_t step = w_.columns.stride;
    for (std::int64_t row = 0; row < height_; row++) {
      const std::int64_t in_row = row - w_.rows.begin;
      To* out = to + row * step * phase_;
      if (in_row < 0 || in_row >= w_.rows.in) {
        std::fill_n(out, step * phase_, padding);
        continue;
      }
      const From* from = x + in_row * w_.columns.in;
      for (std::int64_t p = 0; p < step; p++, out += phase_) {
        // Column c = i * step + p is input column c - begin.
        const std::int64_t shift = p - w_.columns.begin;
        std::int64_t i = 0;
        for (; i < phase_ && i * step + shift < 0; i++) out[i] = padding;
        if (step == 1) {
          const std::int64_t stop = std::min(phase_, w_.columns.in - shift);
          if constexpr (std::is_same_v<From, To> && std::is_same_v<std::decay_t<Load>, Same>) {
            if (stop > i)
              std::memcpy(out + i, from + i + shift,
                          static_cast<std::size_t>(stop - i) * sizeof(To));
            i = std::max(i, stop);
          } else {
            for (; i < stop; i++) out[i] = load(from[i + shift]);
          }
        } else {
          for (; i < phase_ && i * step + shift < w_.columns.in; i++)
            out[i] = load(from[i * step + shift]);
        }
        for (; i < phase_; i++) out[i] = padding;
      }
    }
  }

  struct Same {
    template <class T>
    T operator()(T x) const {
      return x;
    }
  };

 private:
  Window w_;
  std::int64_t height_ = 0, phase_ = 0;
};

}  // namespace longshore::cpu
