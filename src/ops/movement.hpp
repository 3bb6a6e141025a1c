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
Status read_ints(const TensorView& t, int most, const char* what, IntList& out) noexcept;

Status axis_out_of_range(std::int64_t axis, int rank);

Status index_out_of_range(std::int64_t i, std::int64_t size);

template <class T>
void copy_row(std::int64_t n, const std::byte* from, std::int64_t from_step, std::byte* to,
              std::int64_t to_step) {
  const T* p = reinterpret_cast<const T*>(from);
  T* q = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; i++) q[i * to_step] = p[i * from_step];
}

/// Copies `dims` elements of `size` bytes; strides are in elements and may be 0 or negative.
void copy_strided(const Shape& dims, std::size_t size, const void* from, const Shape& from_strides,
                  void* to, const Shape& to_strides) noexcept;

/// Copies one element of `size` bytes.
inline void copy_element(void* to, std::int64_t i, const void* from, std::int64_t j,
                         std::size_t size) noexcept {
  std::memcpy(static_cast<std::byte*>(to) + i * static_cast<std::int64_t>(size),
              static_cast<const std::byte*>(from) + j * static_cast<std::int64_t>(size), size);
}

/// Output 0 has the dims given and the bytes of input 0: reshaping.
Status copy_as(EvalContext& c, const Shape& dims) noexcept;

TensorType unknown_dims(DType dtype, int rank);

/// Facts of any operator: rank, batch and channels of input 0.
void tensor_facts(const NodeTypes& n, Facts& facts);

}  // namespace longshore::ops
