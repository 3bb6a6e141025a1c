// What the integer formulas share: which codes they take, and how wide their sums are.
#pragma once
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"
#include "tensor/visit.hpp"

namespace longshore::ops {

/// Factors of products. Sums are int32 where both have at most 8 bits, else int64.
using FactorTypes = TypeList<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, Int4, UInt4>;
inline bool wide_codes(DType t) noexcept { return t == DType::i16 || t == DType::u16; }

inline bool is_byte(DType t) noexcept { return t == DType::i8 || t == DType::u8; }

/// The sum of codes of that type: of 8 bits it wraps around as int32 does.
inline std::int32_t requantise_sum(std::int64_t sum, DType codes, const Multiplier& m,
                                   std::int32_t zero_point, CodeRange range,
                                   Rounding rounding) noexcept {
  if (wide_codes(codes))
    return requantise(sum, m, zero_point, range.lowest, range.highest, rounding);
  return requantise(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)), m, zero_point,
                    range.lowest, range.highest, rounding);
}

}  // namespace longshore::ops
