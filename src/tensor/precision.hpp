// In what numbers a node computes.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.hpp"

namespace longshore {

/// Floats, or codes: w8a16 has weights of 8 bits and activations of 16.
enum class Precision : std::uint8_t { f32, f16, bf16, w8a8, w8a16, w16a16, w4a8, w4a16 };

/// What a precision means for tensors; sums are int32 where both factors have at most 8 bits, else
/// int64.
struct PrecisionTypes {
  Precision precision;
  std::string_view name;
  DType weights, activations;
};
inline constexpr PrecisionTypes precisions[] = {
    {Precision::f32, "f32", DType::f32, DType::f32},
    {Precision::f16, "f16", DType::f16, DType::f16},
    {Precision::bf16, "bf16", DType::bf16, DType::bf16},
    {Precision::w8a8, "w8a8", DType::i8, DType::i8},
    {Precision::w8a16, "w8a16", DType::i8, DType::i16},
    {Precision::w16a16, "w16a16", DType::i16, DType::i16},
    {Precision::w4a8, "w4a8", DType::i4, DType::i8},
    {Precision::w4a16, "w4a16", DType::i4, DType::i16}};

constexpr const PrecisionTypes& types_of(Precision p) {
  return precisions[static_cast<std::size_t>(p)];
}
constexpr std::string_view name(Precision p) { return types_of(p).name; }
constexpr bool is_integer(Precision p) { return p >= Precision::w8a8; }
constexpr std::optional<Precision> precision_named(std::string_view wanted) {
  for (const PrecisionTypes& t : precisions)
    if (t.name == wanted) return t.precision;
  return {};
}

}  // namespace longshore
