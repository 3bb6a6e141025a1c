#pragma once
#include <algorithm>
#include <optional>

#include "cpu/bind.hpp"

namespace longshore::cpu {

/// [from, to) of an axis.
struct Span {
  std::int64_t from, to;
};

/// A window over rows and columns; one spatial dimension becomes a single row.
struct Window {
  struct Axis {
    std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;

    /// The outputs whose tap k lies inside the input.
    Span outputs_of_tap(std::int64_t k) const {
      const std::int64_t shift = begin - k * dilation;  // input = output * stride - shift
      const std::int64_t from = shift > 0 ? (shift + stride - 1) / stride : 0;
      const std::int64_t last = in - 1 + shift;
      return {std::min(from, out),
              std::max(std::min(from, out), last < 0 ? 0 : std::min(out, last / stride + 1))};
    }
    /// The taps of output o that lie inside the input.
    Span taps_of_output(std::int64_t o) const {
      const std::int64_t start = o * stride - begin;
      const std::int64_t from =
          start >= 0 ? 0 : std::min(kernel, (-start + dilation - 1) / dilation);
      const std::int64_t last = in - 1 - start;
      return {from, std::max(from, last < 0 ? 0 : std::min(kernel, last / dilation + 1))};
    }
  };
  Axis rows, columns;

  std::int64_t taps() const { return rows.kernel * columns.kernel; }
  std::int64_t in_plane() const { return rows.in * columns.in; }
  std::int64_t out_plane() const { return rows.out * columns.out; }
  /// 1x1, every pixel once.
  bool pointwise() const {
    return taps() == 1 && in_plane() == out_plane() && rows.stride == 1 && columns.stride == 1 &&
           rows.begin == 0 && columns.begin == 0;
  }
};

/// From the attributes and the dims of input, output and kernel ([rows,] columns); nothing for
/// three spatial dimensions or where the numbers do not fit together.
std::optional<Window> make_window(const Attributes&, const Shape& in, const Shape& out,
                                  std::span<const std::int64_t> kernel);

}  // namespace longshore::cpu
