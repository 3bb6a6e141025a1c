#pragma once
#include <vector>

#include "base/status.hpp"
#include "tensor/tensor.hpp"

namespace longshore {

/// x = scale * (q - zero_point): one entry for the whole tensor, one for each index of `axis`, or,
/// with a block, one for each run of `block` indices of the axis and each index of every other
/// axis, row-major (as ONNX's DequantizeLinear has it). Empty: not quantised.
struct Quantisation {
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;  // as many as scales
  int axis = 0;                          // used when there are several
  std::int64_t block = 0;                // 0: none

  bool present() const { return !scale.empty(); }
  QuantView view() const {
    return {scale.data(), zero_point.data(), static_cast<std::int64_t>(scale.size()), axis, block};
  }
  bool operator==(const Quantisation&) const = default;
};

/// Largest and smallest code of an integer type of at most 32 bits.
struct CodeRange {
  std::int32_t lowest, highest;
};
CodeRange code_range(DType) noexcept;

/// Code `i` of a tensor of i8, u8, i16, u16, i32 or a tiny integer type.
std::int32_t load_code(const TensorView&, std::int64_t i) noexcept;
void store_code(const MutableView&, std::int64_t i, std::int32_t code) noexcept;

/// True where the number of scales is that of the axis (and block) of a tensor of these dims; dims
/// of -1 are not known and fit. One scale fits every tensor.
bool quant_fits(const QuantView&, const Shape&) noexcept;

/// Index into scale and zero point for element `i` of a tensor with this quantisation.
inline std::int64_t quant_index(const QuantView& q, const Shape& shape, std::int64_t i) noexcept {
  if (q.count <= 1) return 0;
  const std::int64_t inner = shape.product(q.axis + 1, shape.rank), size = shape[q.axis];
  const std::int64_t along = i / inner % size;
  if (q.block == 0) return along;
  const std::int64_t blocks = (size + q.block - 1) / q.block;
  return (i / (inner * size) * blocks + along / q.block) * inner + i % inner;
}

/// f32 to codes by the contract of requantise.hpp; `to` carries scale and zero point.
Status quantise_tensor(const TensorView& from, const MutableView& to) noexcept;
/// Codes to f32; `from` carries scale and zero point.
Status dequantise_tensor(const TensorView& from, const MutableView& to) noexcept;

}  // namespace longshore
