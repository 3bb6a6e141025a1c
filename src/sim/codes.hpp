// Codes of 8 and 16 bits in tiles.
#pragma once
#include <cstdint>
#include <cstring>

#include "tensor/visit.hpp"

namespace longshore {

using CodeTypes = TypeList<std::int8_t, std::int16_t>;

/// Element c of a pixel.
template <class T>
T code_at(const std::byte* pixel, std::size_t c) noexcept {
  T code;
  std::memcpy(&code, pixel + c * sizeof(T), sizeof(T));
  return code;
}
template <class T>
void put_code(std::byte* pixel, std::size_t c, std::int32_t value) noexcept {
  const auto code = static_cast<T>(value);
  std::memcpy(pixel + c * sizeof(T), &code, sizeof(T));
}

}  // namespace longshore
