#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longshore {

/// Element types; the numbers are ONNX's TensorProto.DataType.
enum class DType : std::uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
};
inline constexpr int dtype_count = 27;

/// Bytes of one element in memory. Types below 8 bits take a byte each in memory (packed only in
/// files, docs/adr/0001); string has none here and is 0.
std::size_t size_bytes(DType) noexcept;

/// Bits of one element in a file: 4 for i4, 8 for boolean, 0 for string and undefined.
int file_bits(DType) noexcept;

/// "f32", "i8", "bool", ...; and back (undefined if there is no such name).
std::string_view name(DType) noexcept;
DType dtype_named(std::string_view) noexcept;

/// A set of element types, for schemas and target limits.
struct Types {
  std::uint32_t bits = 0;
  constexpr bool has(DType t) const { return (bits >> static_cast<int>(t)) & 1u; }
  constexpr bool operator==(const Types&) const = default;
};
template <class... Ts>
constexpr Types types(Ts... each) {
  return {((1u << static_cast<int>(each)) | ... | 0u)};
}
constexpr Types operator|(Types a, Types b) { return {a.bits | b.bits}; }

namespace type_set {
inline constexpr Types float_types = types(DType::f16, DType::bf16, DType::f32, DType::f64);
inline constexpr Types float8_types = types(DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                                            DType::f8e5m2fnuz, DType::f8e8m0, DType::f4e2m1);
inline constexpr Types signed_types = types(DType::i8, DType::i16, DType::i32, DType::i64);
inline constexpr Types unsigned_types = types(DType::u8, DType::u16, DType::u32, DType::u64);
inline constexpr Types tiny_types = types(DType::i4, DType::u4, DType::i2, DType::u2);
inline constexpr Types integers = signed_types | unsigned_types;
inline constexpr Types numbers = float_types | integers;
inline constexpr Types boolean = types(DType::boolean);
inline constexpr Types indices = types(DType::i32, DType::i64);
inline constexpr Types int64 = types(DType::i64);
/// Everything that Longshore computes with: all but strings and complex numbers.
inline constexpr Types any = numbers | boolean | tiny_types | float8_types;
}  // namespace type_set

}  // namespace longshore
