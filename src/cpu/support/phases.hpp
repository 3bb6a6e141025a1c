#pragma once
#include <algorithm>
#include <cstring>

#include "tensor/window.hpp"

namespace longshore::cpu {

/// True for windows over rows and columns alone.
inline bool planar(const Window& w) {
  return w.in[0] == 1 && w.out[0] == 1 && w.kernel[0] == 1 && w.begin[0] == 0;
}

/// A plane copied with its padding, each row split into `stride` phases so that the inputs of
/// neighbouring outputs are neighbours: column c lies in phase c % stride at c / stride.
class Phases {
 public:
  explicit Phases(const Window& w) : w_(w) {
    const std::int64_t width = (w.out[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
    height_ = (w.out[1] - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1;
    phase_ = (width + w.stride[2] - 1) / w.stride[2];
    phase_ = std::max(phase_, w.out[2] + (w.kernel[2] - 1) * w.dilation[2] / w.stride[2]);
  }
  std::int64_t elements() const { return height_ * phase_ * w_.stride[2]; }

  /// The place of tap (r, s) of the first output of output row `row`.
  std::int64_t at(std::int64_t row, std::int64_t r, std::int64_t s) const {
    const std::int64_t column = s * w_.dilation[2];
    return ((row * w_.stride[1] + r * w_.dilation[1]) * w_.stride[2] + column % w_.stride[2]) *
               phase_ +
           column / w_.stride[2];
  }

  /// Copies one input plane; To is made from each element by `load`.
  template <class From, class To, class Load>
  void fill(const From* x, To* to, To padding, Load&& load) const {
    const std::int64_t step = w_.stride[2];
    for (std::int64_t row = 0; row < height_; row++) {
      const std::int64_t in_row = row - w_.begin[1];
      To* out = to + row * step * phase_;
      if (in_row < 0 || in_row >= w_.in[1]) {
        std::fill_n(out, step * phase_, padding);
        continue;
      }
      const From* from = x + in_row * w_.in[2];
      for (std::int64_t p = 0; p < step; p++, out += phase_) {
        // Column c = i * step + p is input column c - begin.
        const std::int64_t shift = p - w_.begin[2];
        std::int64_t i = 0;
        for (; i < phase_ && i * step + shift < 0; i++) out[i] = padding;
        if (step == 1) {
          const std::int64_t stop = std::min(phase_, w_.in[2] - shift);
          if constexpr (std::is_same_v<From, To> && std::is_same_v<std::decay_t<Load>, Same>) {
            if (stop > i)
              std::memcpy(out + i, from + i + shift,
                          static_cast<std::size_t>(stop - i) * sizeof(To));
            i = std::max(i, stop);
          } else {
            for (; i < stop; i++) out[i] = load(from[i + shift]);
          }
        } else {
          for (; i < phase_ && i * step + shift < w_.in[2]; i++)
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
