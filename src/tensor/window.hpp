// Windows that slide over one to three spatial dimensions: convolutions and pools.
#pragma once
#include <algorithm>
#include <cstdint>

namespace longshore {

/// A window over exactly three spatial dimensions (depth, rows, columns); operators with fewer have
/// leading ones of size 1.
struct Window {
  std::int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
               dilation[3] = {1, 1, 1};
  std::int64_t begin[3] = {}, end[3] = {}, out[3] = {1, 1, 1};

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// How many input elements of axis `i` one output looks across.
  std::int64_t reach(int i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  bool operator==(const Window&) const = default;
};

/// [from, to) of an axis.
struct Range {
  std::int64_t from, to;
};

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

/// The outputs of axis `i` whose tap `k` lies inside the input.
inline Range outputs_of_tap(const Window& w, int i, std::int64_t k) {
  const std::int64_t shift = w.begin[i] - k * w.dilation[i];  // input = output * stride - shift
  return {std::max<std::int64_t>(0, ceil_div(shift, w.stride[i])),
          std::min(w.out[i], floor_div(w.in[i] - 1 + shift, w.stride[i]) + 1)};
}

/// The taps of axis `i` that lie inside [0, size) for output `o`, as kernel indices.
inline Range taps_of_output(const Window& w, int i, std::int64_t o, std::int64_t from,
                            std::int64_t to) {
  const std::int64_t start = o * w.stride[i] - w.begin[i];
  return {std::clamp<std::int64_t>(ceil_div(from - start, w.dilation[i]), 0, w.kernel[i]),
          std::clamp<std::int64_t>(floor_div(to - 1 - start, w.dilation[i]) + 1, 0, w.kernel[i])};
}

}  // namespace longshore
