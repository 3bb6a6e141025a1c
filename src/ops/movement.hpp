// Shared by the operators that move elements: reading small integer inputs, strided copies by
// element size (so that no operator is compiled for every type), and facts of tensors.
#pragma once
#include <algorithm>
#include <cstring>

#include "ir/op.hpp"
#include "tensor/visit.hpp"

namespace longshore::ops {

/// Element i of an i32 or i64 tensor.
inline std::int64_t int_at(const TensorView& t, std::int64_t i) noexcept {
  return t.dtype == DType::i32 ? t.as<std::int32_t>()[i] : t.as<std::int64_t>()[i];
}

/// Up to two integers for each dimension (pads have that many), without allocation.
struct IntList {
  std::int64_t values[2 * max_rank] = {};
  int count = 0;
  std::int64_t operator[](int i) const { return values[i]; }
  const std::int64_t* begin() const { return values; }
  const std::int64_t* end() const { return values + count; }
};

/// The elements of an i32 or i64 vector (or scalar) with at most `most` elements.
inline Status read_ints(const TensorView& t, int most, const char* what, IntList& out) noexcept {
  const std::int64_t n = t.elements();
  if (t.shape.rank > 1 || n > most)
    return Status::error(Code::bad_argument, "%s must be a vector of at most %d integers", what,
                         most);
  out.count = static_cast<int>(n);
  for (int i = 0; i < out.count; i++) out.values[i] = int_at(t, i);
  return {};
}

inline Status axis_out_of_range(std::int64_t axis, int rank) {
  return Status::error(Code::bad_argument, "axis %lld is not in [%d, %d)",
                       static_cast<long long>(axis), -rank, rank);
}

inline Status index_out_of_range(std::int64_t i, std::int64_t size) {
  return Status::error(Code::bad_argument, "index %lld is not in [-%lld, %lld)",
                       static_cast<long long>(i), static_cast<long long>(size),
                       static_cast<long long>(size));
}

template <class T>
void copy_row(std::int64_t n, const std::byte* from, std::int64_t from_step, std::byte* to,
              std::int64_t to_step) {
  const T* p = reinterpret_cast<const T*>(from);
  T* q = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; i++) q[i * to_step] = p[i * from_step];
}

/// Copies `dims` elements of `size` bytes; strides are in elements and may be 0 or negative.
inline void copy_strided(const Shape& dims, std::size_t size, const void* from,
                         const Shape& from_strides, void* to, const Shape& to_strides) noexcept {
  if (dims.elements() <= 0 || size == 0) return;
  const auto* p = static_cast<const std::byte*>(from);
  auto* q = static_cast<std::byte*>(to);
  // Trailing dimensions that are dense on both sides are one run.
  int outer = dims.rank;
  std::int64_t run = 1;
  while (outer > 0 &&
         (dims[outer - 1] == 1 || (from_strides[outer - 1] == run && to_strides[outer - 1] == run)))
    run *= dims[--outer];
  std::int64_t row = 1, from_step = 0, to_step = 0;
  if (run == 1 && outer > 0) {
    outer--;
    row = dims[outer];
    from_step = from_strides[outer];
    to_step = to_strides[outer];
  }
  Shape counter;
  for (int i = 0; i < outer; i++) counter.push(0);
  Shape limits = dims;
  limits.rank = outer;
  const auto bytes = static_cast<std::int64_t>(size);
  do {
    std::int64_t a = 0, b = 0;
    for (int i = 0; i < outer; i++) {
      a += counter[i] * from_strides[i];
      b += counter[i] * to_strides[i];
    }
    const std::byte* source = p + a * bytes;
    std::byte* target = q + b * bytes;
    if (row == 1)
      std::memcpy(target, source, static_cast<std::size_t>(run * bytes));
    else if (size == 4)
      copy_row<std::uint32_t>(row, source, from_step, target, to_step);
    else if (size == 8)
      copy_row<std::uint64_t>(row, source, from_step, target, to_step);
    else if (size == 2)
      copy_row<std::uint16_t>(row, source, from_step, target, to_step);
    else if (size == 1)
      copy_row<std::uint8_t>(row, source, from_step, target, to_step);
    else
      for (std::int64_t i = 0; i < row; i++)
        std::memcpy(target + i * to_step * bytes, source + i * from_step * bytes, size);
  } while (next_index(counter, limits));
}

/// Copies one element of `size` bytes.
inline void copy_element(void* to, std::int64_t i, const void* from, std::int64_t j,
                         std::size_t size) noexcept {
  std::memcpy(static_cast<std::byte*>(to) + i * static_cast<std::int64_t>(size),
              static_cast<const std::byte*>(from) + j * static_cast<std::int64_t>(size), size);
}

/// Output 0 has the dims given and the bytes of input 0: reshaping.
inline Status copy_as(EvalContext& c, const Shape& dims) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (y.bytes() != x.bytes())
    return Status::error(Code::bad_argument, "%lld elements cannot become %lld elements",
                         static_cast<long long>(x.elements()),
                         static_cast<long long>(y.elements()));
  if (x.bytes() > 0) std::memcpy(y.data, x.data, x.bytes());
  return {};
}

inline TensorType unknown_dims(DType dtype, int rank) {
  return {dtype, Dims(static_cast<std::size_t>(rank))};
}

/// Facts of any operator: rank, batch and channels of input 0.
inline void tensor_facts(const NodeTypes& n, Facts& facts) {
  const TensorType& x = n.input(0);
  if (!x.ranked) return;
  facts["rank"] = x.rank();
  if (x.rank() > 0 && x.dims[0].known()) facts["batch"] = x.dims[0].value;
  if (x.rank() > 1 && x.dims[1].known()) facts["in_channels"] = x.dims[1].value;
}

/// An attribute of an older opset becomes input `at` (a vector of i64).
inline void attribute_to_input(Node& n, Rewriter& r, std::string_view attribute, std::size_t at) {
  if (!n.attributes.has(attribute)) return;
  const std::span<const std::int64_t> values = n.attributes.integers(attribute);
  if (n.inputs.size() <= at) n.inputs.resize(at + 1, no_value);
  n.inputs[at] = r.constant(make_ints(values));
  n.attributes.erase(attribute);
}

}  // namespace longshore::ops
