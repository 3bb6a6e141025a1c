#include "program/region.hpp"

#include <algorithm>
#include <limits>

#include "program/access.hpp"
#include "program/instruction_def.hpp"

namespace longshore {
namespace {

struct SortedLoop {
  std::uint64_t stride = 0, count = 1;
};

/// The region's loops of more than one turn, by ascending stride; returns how many.
int sorted_loops(const Region& r, SortedLoop (&loops)[3]) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    if (r.count[i] <= 1) continue;
    int at = n++;
    for (; at > 0 && loops[at - 1].stride > r.stride[i]; at--) loops[at] = loops[at - 1];
    loops[at] = {r.stride[i], r.count[i]};
  }
  return n;
}

/// A region's loops, outermost first, with the bytes from the first to past the last of each.
class Nest {
 public:
  explicit Nest(const Region& region) {
    const Region r = region.merged();
    at_ = static_cast<std::int64_t>(r.address);
    for (int i = 0; i < 3; i++)
      if (r.count[i] > 1)
        loops_[depth_++] = {static_cast<std::int64_t>(r.stride[i]),
                            static_cast<std::int64_t>(r.count[i])};
    span_[depth_] = static_cast<std::int64_t>(r.run);
    for (int i = depth_; i-- > 0;)
      span_[i] = span_[i + 1] + loops_[i].stride * (loops_[i].count - 1);
  }
  bool meets(const Nest& other) const { return meet(*this, 0, other, 0, other.at_ - at_); }

 private:
  struct Loop {
    std::int64_t stride = 0, count = 1;
  };

  /// The turns of a loop of `count` whose `span` bytes share one with [from, to) are those from
  /// `first` to before `past`; the loop begins at 0.
  struct Turns {
    std::int64_t first, past;
  };
  static Turns between(const Loop& loop, std::int64_t lowest, std::int64_t span, std::int64_t from,
                       std::int64_t to) {
    // Turn t is at t * stride: t * stride + span > from and t * stride < to.
    return {std::max(lowest, floor(from - span, loop.stride) + 1),
            std::min(loop.count, floor(to - 1, loop.stride) + 1)};
  }
  static std::int64_t floor(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

  /// Loops of `a` from `i` on, which begin at 0, and those of `b` from `j` on, at `by`.
  static bool meet(const Nest& a, int i, const Nest& b, int j, std::int64_t by) {
    if (by >= a.span_[i] || by + b.span_[j] <= 0) return false;
    const bool a_loops = i < a.depth_, b_loops = j < b.depth_;
    if (!a_loops && !b_loops) return true;
    if (a_loops && b_loops && a.loops_[i].stride == b.loops_[j].stride) {
      // Only how far one turn is from the other counts.
      const Loop &x = a.loops_[i], &y = b.loops_[j];
      const Turns apart =
          between({y.stride, y.count}, 1 - x.count, b.span_[j + 1], -by, a.span_[i + 1] - by);
      for (std::int64_t k = apart.first; k < apart.past; k++)
        if (meet(a, i + 1, b, j + 1, by + k * x.stride)) return true;
      return false;
    }
    if (a_loops && (!b_loops || a.loops_[i].stride > b.loops_[j].stride)) {
      const Turns turns = between(a.loops_[i], 0, a.span_[i + 1], by, by + b.span_[j]);
      for (std::int64_t t = turns.first; t < turns.past; t++)
        if (meet(a, i + 1, b, j, by - t * a.loops_[i].stride)) return true;
      return false;
    }
    return meet(b, j, a, i, -by);
  }

  std::int64_t at_ = 0;
  int depth_ = 0;
  Loop loops_[3];
  std::int64_t span_[4] = {};
};

}  // namespace

const char* name(Space space) noexcept {
  switch (space) {
    case Space::sram:
      return "SRAM";
    case Space::arena:
      return "arena";
    case Space::constants:
      return "constants";
  }
  return "?";
}

std::uint64_t Region::end() const noexcept {
  if (empty()) return address;
  // Each product is below 2^128: count < 2^32, stride < 2^64.
  Wide last = static_cast<Wide>(address) + run;
  for (int i = 0; i < 3; i++) last += static_cast<Wide>(count[i] - 1) * stride[i];
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return last > most ? most : static_cast<std::uint64_t>(last);
}

Region Region::merged() const noexcept {
  Region r = *this;
  if (empty()) return r;
  SortedLoop loops[3];
  const int n = sorted_loops(*this, loops);
  int kept = 0;
  for (int i = 0; i < n; i++) {
    const auto [step, times] = loops[i];
    if (step == 0) continue;  // the same run again
    if (kept == 0 && step <= r.run) {
      r.run += step * (times - 1);  // dense, or windows that overlap
      continue;
    }
    if (kept > 0 && loops[kept - 1].stride * loops[kept - 1].count == step) {
      loops[kept - 1].count *= times;
      continue;
    }
    loops[kept++] = loops[i];
  }
  for (int i = 0; i < 3; i++) {
    r.count[2 - i] = i < kept ? loops[i].count : 1;
    r.stride[2 - i] = i < kept ? loops[i].stride : 0;
  }
  return r;
}

bool Region::disjoint_runs() const noexcept {
  SortedLoop loops[3];
  const int n = sorted_loops(*this, loops);
  Wide extent = run;
  for (int i = 0; i < n; i++) {
    if (loops[i].stride < extent) return false;
    extent += static_cast<Wide>(loops[i].stride) * (loops[i].count - 1);
  }
  return true;
}

bool overlap(const Region& a, const Region& b) noexcept {
  if (a.space != b.space || a.empty() || b.empty()) return false;
  if (a.space == Space::sram && a.core != b.core) return false;
  if (a.end() <= b.address || b.end() <= a.address) return false;
  return Nest(a).meets(Nest(b));
}

Regions regions_of(const Instruction& instruction) noexcept {
  Regions out;
  const InstructionDef& def = instruction.operation.def();
  if (def.regions) def.regions(instruction.operation.operands(), instruction.queue, out);
  for (Region& r : out.items)
    if (r.space == Space::sram && r.core == Region::own_core) r.core = instruction.core;
  return out;
}

Region tile_region(const char* operand, const Tile& t, std::uint64_t height, std::uint64_t width,
                   std::uint64_t channels) noexcept {
  const auto element = static_cast<std::uint32_t>(size_bytes(t.dtype));
  return {.operand = operand,
          .address = t.address,
          .run = channels * element,
          .count = {height, width, 1},
          .stride = {t.row_stride, t.pixel_stride, 0},
          .element = element};
}

Region plain_region(const char* operand, std::uint64_t address, std::uint64_t bytes,
                    std::uint32_t element) noexcept {
  return {.operand = operand, .address = address, .run = bytes, .element = element};
}

}  // namespace longshore
