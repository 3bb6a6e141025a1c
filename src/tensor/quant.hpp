#pragma once
#include "base/status.hpp"
#include "tensor/tensor.hpp"

namespace longshore {

/// Largest and smallest code of an integer type of at most 32 bits.
struct CodeRange {
  std::int32_t lowest, highest;
};
CodeRange code_range(DType) noexcept;

/// Code `i` of a tensor of i8, u8, i16, u16, i32 or a tiny integer type.
std::int32_t load_code(const TensorView&, std::int64_t i) noexcept;
void store_code(const MutableView&, std::int64_t i, std::int32_t code) noexcept;

/// Index into scale and zero point for element `i` of a tensor with this quantisation.
inline std::int64_t quant_index(const QuantView& q, const Shape& shape, std::int64_t i) noexcept {
  if (q.count <= 1) return 0;
  return i / shape.product(q.axis + 1, shape.rank) % shape[q.axis];
}

/// f32 to codes by the contract of requantise.hpp; `to` carries scale and zero point.
Status quantise_tensor(const TensorView& from, const MutableView& to) noexcept;
/// Codes to f32; `from` carries scale and zero point.
Status dequantise_tensor(const TensorView& from, const MutableView& to) noexcept;

}  // namespace longshore
