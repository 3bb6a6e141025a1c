// An instruction's operands as a table: printing, encoding, comparing, range checks and `inject`
// walk it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "program/instruction.hpp"

namespace longshore {

/// What a role tells the range check, `inject` and a printer about an operand.
enum class Role : std::uint8_t {
  address,    // bytes
  stride,     // bytes, or 0 to broadcast
  extent,     // a loop's turns: 1..65535
  padding,    // 0..65535
  code,       // a zero point or clamp: in the range of a tile's dtype
  number,     // any other
  flag,       // one of few
  dtype,      // of a tile
  scale,      // positive and finite
  semaphore,  // its id
};

enum class FieldKind : std::uint8_t { flag, choice, i8, i32, u32, u64, f32 };

/// One operand.
struct Field {
  const char* name;
  Role role;
  FieldKind kind;
  std::uint16_t offset;  // in the struct
  /// Allowed values of integers; of choices the number of enumerators less one.
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  Types types = {};            // Role::dtype: what the instruction takes
  std::uint16_t dtype_at = 0;  // Role::code: offset of the dtype whose codes it is one of
};

constexpr std::size_t size_bytes(FieldKind kind) {
  constexpr std::uint8_t sizes[] = {1, 1, 1, 4, 4, 8, 4};
  return sizes[static_cast<std::size_t>(kind)];
}

template <class T>
constexpr FieldKind field_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return FieldKind::flag;
  else if constexpr (std::is_enum_v<T> && sizeof(T) == 1)
    return FieldKind::choice;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return FieldKind::i8;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return FieldKind::i32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return FieldKind::u32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return FieldKind::u64;
  else {
    static_assert(std::is_same_v<T, float>, "operands are plain numbers");
    return FieldKind::f32;
  }
}

template <class T>
constexpr Field make_field(const char* name, Role role, std::size_t offset,
                           std::int64_t highest = std::numeric_limits<std::int64_t>::max()) {
  Field f{name, role, field_kind<T>(), static_cast<std::uint16_t>(offset)};
  if (role == Role::extent) f.lowest = 1, f.highest = max_extent;
  if (role == Role::padding) f.lowest = 0, f.highest = max_extent;
  if (f.kind == FieldKind::choice) f.lowest = 0;
  if (f.kind == FieldKind::flag) f.lowest = 0, f.highest = 1;
  if (highest != std::numeric_limits<std::int64_t>::max()) f.highest = highest;
  return f;
}

constexpr std::array<Field, 4> make_tile(std::array<const char*, 4> names, std::size_t offset,
                                         Types types) {
  Field dtype =
      make_field<DType>(names[3], Role::dtype, offset + offsetof(Tile, dtype), dtype_count - 1);
  dtype.types = types;
  return {make_field<std::uint32_t>(names[0], Role::address, offset + offsetof(Tile, address)),
          make_field<std::uint32_t>(names[1], Role::stride, offset + offsetof(Tile, row_stride)),
          make_field<std::uint32_t>(names[2], Role::stride, offset + offsetof(Tile, pixel_stride)),
          dtype};
}

template <class T>
constexpr std::array<Field, 3> make_three(std::array<const char*, 3> names, Role role,
                                          std::size_t offset) {
  return {make_field<T>(names[0], role, offset), make_field<T>(names[1], role, offset + sizeof(T)),
          make_field<T>(names[2], role, offset + 2 * sizeof(T))};
}

constexpr Field make_code(Field f, std::size_t dtype_at) {
  f.dtype_at = static_cast<std::uint16_t>(dtype_at);
  return f;
}

/// A member by its name.
#define LONGSHORE_FIELD(type, role, member)                                         \
  ::longshore::make_field<decltype(type::member)>(#member, ::longshore::Role::role, \
                                                  offsetof(type, member))
/// The same with the greatest value allowed: of a choice, its last enumerator.
#define LONGSHORE_LIMITED(type, role, member, highest)                              \
  ::longshore::make_field<decltype(type::member)>(#member, ::longshore::Role::role, \
                                                  offsetof(type, member), highest)
/// Three loops: member_0, member_1, member_2.
#define LONGSHORE_THREE(type, role, member)                              \
  ::longshore::make_three<std::remove_extent_t<decltype(type::member)>>( \
      {#member "_0", #member "_1", #member "_2"}, ::longshore::Role::role, offsetof(type, member))
/// A tile and the dtypes that it may have.
#define LONGSHORE_TILE(type, member, types)                                        \
  ::longshore::make_tile(                                                          \
      {#member, #member "_row_stride", #member "_pixel_stride", #member "_dtype"}, \
      offsetof(type, member), types)
/// A number in the range of the tile's codes.
#define LONGSHORE_CODE(type, member, tile)                    \
  ::longshore::make_code(LONGSHORE_FIELD(type, code, member), \
                         offsetof(type, tile) + offsetof(::longshore::Tile, dtype))

/// The clamp of an output tile.
#define LONGSHORE_CLAMP(type, tile)                                           \
  std::array {                                                                \
    LONGSHORE_CODE(type, out_zero, tile), LONGSHORE_CODE(type, lowest, tile), \
        LONGSHORE_CODE(type, highest, tile)                                   \
  }

/// Fields and arrays of them, as one array. A bundle relies on the order.
template <class... Parts>
constexpr auto field_list(const Parts&... parts) {
  constexpr auto size = [](auto part) {
    if constexpr (std::is_same_v<decltype(part), Field>)
      return std::size_t{1};
    else
      return part.size();
  };
  std::array<Field, (size(Parts{}) + ...)> out{};
  std::size_t at = 0;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_same_v<decltype(part), const Field&>)
      out[at++] = part;
    else
      for (const Field& f : part) out[at++] = f;
  };
  (append(parts), ...);
  return out;
}

/// Calls visit(member) with the operand as bool, DType's or another choice's number (uint8_t),
/// int8_t, int32_t, uint32_t, uint64_t or float.
template <class Visit>
decltype(auto) visit_field(const Field& field, void* operands, Visit&& visit) {
  void* at = static_cast<std::byte*>(operands) + field.offset;
  switch (field.kind) {
    case FieldKind::flag:
      return visit(*static_cast<bool*>(at));
    case FieldKind::choice:
      return visit(*static_cast<std::uint8_t*>(at));
    case FieldKind::i8:
      return visit(*static_cast<std::int8_t*>(at));
    case FieldKind::i32:
      return visit(*static_cast<std::int32_t*>(at));
    case FieldKind::u64:
      return visit(*static_cast<std::uint64_t*>(at));
    case FieldKind::f32:
      return visit(*static_cast<float*>(at));
    case FieldKind::u32:
      break;
  }
  return visit(*static_cast<std::uint32_t*>(at));
}
template <class Visit>
decltype(auto) visit_field(const Field& field, const void* operands, Visit&& visit) {
  return visit_field(field, const_cast<void*>(operands),
                     [&](const auto& member) { return visit(member); });
}

}  // namespace longshore
