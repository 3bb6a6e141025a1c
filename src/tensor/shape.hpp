#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>

namespace longshore {

/// The most dimensions that a tensor may have; readers refuse more.
inline constexpr int max_rank = 8;

/// Known dimensions, without allocation. Rank 0 is a scalar (one element).
struct Shape {
  std::int64_t dims[max_rank] = {};
  int rank = 0;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> from) {
    for (std::int64_t d : from) push(d);
  }
  explicit constexpr Shape(std::span<const std::int64_t> from) {
    for (std::int64_t d : from) push(d);
  }
  /// Ignored beyond max_rank: callers check the rank first.
  constexpr void push(std::int64_t d) {
    if (rank < max_rank) dims[rank++] = d;
  }
  constexpr std::int64_t& operator[](int i) { return dims[i]; }
  constexpr std::int64_t operator[](int i) const { return dims[i]; }
  constexpr std::int64_t back() const { return dims[rank - 1]; }
  constexpr const std::int64_t* begin() const { return dims; }
  constexpr const std::int64_t* end() const { return dims + rank; }
  constexpr std::int64_t* begin() { return dims; }
  constexpr std::int64_t* end() { return dims + rank; }
  constexpr bool operator==(const Shape& other) const {
    if (rank != other.rank) return false;
    for (int i = 0; i < rank; i++)
      if (dims[i] != other.dims[i]) return false;
    return true;
  }

  /// The product of dims[from..to). 1 for an empty range.
  constexpr std::int64_t product(int from, int to) const {
    std::int64_t n = 1;
    for (int i = from; i < to; i++) n *= dims[i];
    return n;
  }
  constexpr std::int64_t elements() const { return product(0, rank); }
};

/// elements(), or -1 where a dimension is negative or the product exceeds `limit`.
constexpr std::int64_t checked_elements(const Shape& s,
                                        std::int64_t limit = std::int64_t{1} << 40) {
  std::int64_t n = 1;
  bool zero = false;
  for (std::int64_t d : s) {
    if (d < 0) return -1;
    if (d == 0)
      zero = true;
    else if (n > limit / d)
      n = limit + 1;
    else
      n *= d;
  }
  return zero ? 0 : n > limit ? -1 : n;
}

/// An axis in [-rank, rank) as [0, rank); -1 where it is out of range.
constexpr int resolve_axis(std::int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? static_cast<int>(axis) : -1;
}

/// Row-major strides in elements.
constexpr Shape strides_of(const Shape& s) {
  Shape out = s;
  std::int64_t stride = 1;
  for (int i = s.rank; i-- > 0;) {
    out[i] = stride;
    stride *= s[i];
  }
  return out;
}

/// Advances a row-major counter over `dims`; false after the last position.
constexpr bool next_index(Shape& at, const Shape& dims) {
  for (int i = dims.rank; i-- > 0;) {
    if (++at[i] < dims[i]) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace longshore
