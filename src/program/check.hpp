// Parts of the checks of instructions.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "program/field.hpp"

namespace longshore {

struct Machine;

inline constexpr std::uint64_t most_work = std::uint64_t{1} << 36;  // MACs or window elements
inline constexpr std::uint64_t most_tile = std::uint64_t{1} << 26;  // elements of a padded tile
inline constexpr std::int64_t most_run_bytes = std::int64_t{1} << 31;

[[gnu::format(printf, 1, 2)]] Status refuse(const char* format, ...) noexcept;

/// Refuses a value that is not a multiple.
Status aligned(const char* operand, std::uint64_t value, std::uint32_t alignment) noexcept;

Status check_semaphore(std::uint32_t semaphore, std::uint32_t count, const Machine&) noexcept;

Status check_windows_of(const char* what, std::uint64_t out, std::uint64_t stride,
                        std::uint64_t kernel, std::uint64_t dilation, std::uint64_t before,
                        std::uint64_t in, std::uint64_t after) noexcept;

/// Windows of conv and pool stay inside the tile and its padding.
template <class O>
Status check_windows(const O& o) {
  LONGSHORE_TRY(check_windows_of("rows", o.out_h, o.stride_h, o.kernel_h, o.dilation_h, o.pad_top,
                                 o.in_h, o.pad_bottom));
  return check_windows_of("columns", o.out_w, o.stride_w, o.kernel_w, o.dilation_w, o.pad_left,
                          o.in_w, o.pad_right);
}

template <class O>
Status check_clamp(const O& o) {
  if (o.lowest <= o.highest) return {};
  return refuse("lowest is %d, above highest %d", o.lowest, o.highest);
}

/// The fields of `windows`: how a kernel walks over a padded tile.
template <class O>
inline constexpr auto window_fields =
    std::array{LONGSHORE_FIELD(O, extent, kernel_h),    LONGSHORE_FIELD(O, extent, kernel_w),
               LONGSHORE_FIELD(O, extent, stride_h),    LONGSHORE_FIELD(O, extent, stride_w),
               LONGSHORE_FIELD(O, extent, dilation_h),  LONGSHORE_FIELD(O, extent, dilation_w),
               LONGSHORE_FIELD(O, padding, pad_top),    LONGSHORE_FIELD(O, padding, pad_left),
               LONGSHORE_FIELD(O, padding, pad_bottom), LONGSHORE_FIELD(O, padding, pad_right)};

/// The field is a stride of the tile whose loop turns once.
inline bool idle_stride(std::string_view field, std::string_view tile, std::uint64_t height,
                        std::uint64_t width) noexcept {
  if (!field.starts_with(tile)) return false;
  field.remove_prefix(tile.size());
  return (height <= 1 && field == "_row_stride") || (width <= 1 && field == "_pixel_stride");
}
/// `uses` of an instruction that reads tile `in` and writes tile `out`, of the same extents.
template <class O>
bool uses_in_and_out(const O& o, std::string_view field) {
  return !idle_stride(field, "in", o.height, o.width) &&
         !idle_stride(field, "out", o.height, o.width);
}
/// The same as idle_stride for three loops: the field is name_0 .. name_2.
inline bool idle_loop(std::string_view field, std::string_view name,
                      const std::uint32_t (&count)[3]) noexcept {
  if (field.size() != name.size() + 2 || !field.starts_with(name)) return false;
  const int i = field.back() - '0';
  return field[name.size()] == '_' && i >= 0 && i < 3 && count[i] <= 1;
}
/// The field moves a window that does not move, or spreads a kernel of one tap.
template <class O>
bool idle_window(std::string_view field, const O& o) noexcept {
  return (field == "stride_h" && o.out_h <= 1) || (field == "stride_w" && o.out_w <= 1) ||
         (field == "dilation_h" && o.kernel_h <= 1) || (field == "dilation_w" && o.kernel_w <= 1);
}

}  // namespace longshore
