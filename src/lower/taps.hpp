// Taps: stores that only the comparison needs, of every value that a tile holds bytes of.
#pragma once
#include <array>
#include <functional>
#include <vector>

#include "plan/plan.hpp"

namespace longshore::lower {

/// A box of a value whose elements lie in SRAM: along NHWC axis i, `count[i]` elements from
/// position `at[i]`, `stride[i]` bytes apart from address `sram` on.
struct TapBox {
  std::array<std::int64_t, 4> at{}, count{};
  std::array<std::uint64_t, 4> stride{};
  std::uint64_t sram = 0;
  std::int64_t element_bytes = 1;
};

/// The box of a tile, moved by `part`.
TapBox tap_box(const plan::Box&, const Tile&, const std::array<std::int64_t, 4>& part);

/// Calls visit for the value, for what it is a part of, and for every alias that shows elements of
/// one of them and that the box has some of.
void each_tap(const plan::Plan&, const std::vector<std::vector<ValueId>>& shown_by, ValueId,
              const TapBox&, const std::function<void(ValueId, const TapBox&)>& visit);

/// The stores of a box into a row-major place with these strides (NHWC, in bytes).
std::vector<Dma> tap_transfers(const TapBox&, std::uint64_t offset,
                               const std::array<std::uint64_t, 4>& stride, std::uint32_t dims);

}  // namespace longshore::lower
