#include "tensor/dtype.hpp"

namespace longshore {
namespace {

struct Row {
  std::string_view name;
  std::uint8_t size_bytes, file_bits;
};
constexpr Row rows[dtype_count] = {
    {"undefined", 0, 0},  {"f32", 4, 32},     {"u8", 1, 8},         {"i8", 1, 8},
    {"u16", 2, 16},       {"i16", 2, 16},     {"i32", 4, 32},       {"i64", 8, 64},
    {"string", 0, 0},     {"bool", 1, 8},     {"f16", 2, 16},       {"f64", 8, 64},
    {"u32", 4, 32},       {"u64", 8, 64},     {"c64", 8, 64},       {"c128", 16, 128},
    {"bf16", 2, 16},      {"f8e4m3fn", 1, 8}, {"f8e4m3fnuz", 1, 8}, {"f8e5m2", 1, 8},
    {"f8e5m2fnuz", 1, 8}, {"u4", 1, 4},       {"i4", 1, 4},         {"f4e2m1", 1, 4},
    {"f8e8m0", 1, 8},     {"u2", 1, 2},       {"i2", 1, 2},
};
const Row& row(DType t) {
  const auto i = static_cast<std::size_t>(t);
  return rows[i < dtype_count ? i : 0];
}

}  // namespace

std::size_t size_bytes(DType t) noexcept { return row(t).size_bytes; }
int file_bits(DType t) noexcept { return row(t).file_bits; }
std::string_view name(DType t) noexcept { return row(t).name; }
DType dtype_named(std::string_view wanted) noexcept {
  for (int i = 1; i < dtype_count; i++)
    if (rows[i].name == wanted) return static_cast<DType>(i);
  return DType::undefined;
}

}  // namespace longshore
