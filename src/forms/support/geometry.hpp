// Boxes of tensors and tiles in SRAM, as the NPU walks them: batch, height, width, channels.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "program/machine.hpp"
#include "tensor/window.hpp"

namespace longshore::forms {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// The dims of a value as the NPU walks them; AxisOrder says which dim is which.
struct Extent {
  std::int64_t n = 1, h = 1, w = 1, c = 1;
  std::int64_t elements() const { return n * h * w * c; }
  bool operator==(const Extent&) const = default;
};
/// Nothing for ranks above 4 and unknown dims.
std::optional<Extent> extent_of(const Value&);
/// Extents of operand `v`, whose dims are aligned with those of the output as numpy does.
Extent aligned_extent(const Graph&, ValueId v, ValueId output);
/// Position of an element of a row-major tensor of these dims as n, h, w, c.
std::array<std::int64_t, 4> nhwc_position(AxisOrder, const Shape&, std::int64_t at);
/// An axis of a tensor of this rank as a position in NHWC order.
int nhwc_axis(AxisOrder, int rank, std::int64_t axis);
/// Elements between neighbours along n, h, w and c where the value lies row-major; 0 along axes
/// that it has not. All 0 for ranks above 4 and unknown dims.
std::array<std::int64_t, 4> row_major_strides(const Value&);
/// Both have the same elements at the same n, h, w, c, if both lie row-major.
bool same_walk(const Value&, const Value&);
/// Both are images of the same pixels in the same order, in rows of other lengths.
bool same_pixels(const Value&, const Value&);

/// A range of rows, columns or channels.
struct Span {
  std::int64_t from = 0, to = 0;
  std::int64_t size() const { return to - from; }
  bool operator==(const Span&) const = default;
};

/// A box of one image of a tensor.
struct Box {
  std::int64_t n = 0;
  Span h, w, c;
  bool empty() const { return h.size() <= 0 || w.size() <= 0 || c.size() <= 0; }
  bool operator==(const Box&) const = default;
};

/// What one tile computes: a box of the result and, where the form sums, the part of the summed
/// axes that this turn adds (input channels in `over.c`, input rows and columns in `over.h`, `.w`).
struct TileBox {
  Box out, over;
  bool begins = true, ends = true;  // the first and the last turn of a sum
  bool operator==(const TileBox&) const = default;
};

/// The input rows (or columns) that outputs [from, to) look at, cut to [0, size); `before` and
/// `after` are how far the windows reach beyond.
struct Reach {
  Span in;
  std::int64_t before = 0, after = 0;
};
/// `axis` of the window: 1 rows, 2 columns.
Reach reach_of(const Window&, int axis, Span out, std::int64_t size);

/// Bytes and strides of a tile in SRAM.
struct TileShape {
  std::int64_t rows = 1, columns = 1, channels = 1, pixel_stride = 1;
  std::int64_t row_stride() const { return columns * pixel_stride; }
  std::int64_t bytes() const { return rows * row_stride(); }
};
/// Alignment of slots and pixel strides in SRAM.
std::int64_t sram_alignment(const Machine&);
/// `element_bytes` is the size of one element.
TileShape tile_shape(const Machine&, std::int64_t rows, std::int64_t columns, std::int64_t channels,
                     std::int64_t element_bytes = 1);
inline TileShape tile_shape(const Machine& m, const Box& b, std::int64_t element_bytes = 1) {
  return tile_shape(m, b.h.size(), b.w.size(), b.c.size(), element_bytes);
}

}  // namespace longshore::forms
