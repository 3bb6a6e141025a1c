#include "program/region.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "program/access.hpp"
#include "program/instruction_def.hpp"

namespace longshore {
namespace {

struct Loop {
  std::uint64_t stride = 0, count = 1;
};

/// The region's loops of more than one turn, by ascending stride; returns how many.
int sorted_loops(const Region& r, Loop (&loops)[3]) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    if (r.count[i] <= 1) continue;
    int at = n++;
    for (; at > 0 && loops[at - 1].stride > r.stride[i]; at--) loops[at] = loops[at - 1];
    loops[at] = {r.stride[i], r.count[i]};
  }
  return n;
}

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
  Loop loops[3];
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
  Loop loops[3];
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
  if (a.end() <= b.address || b.end() <= a.address) return false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> first;
  each_run(a, [&](std::uint64_t begin, std::uint64_t end) { first.emplace_back(begin, end); });
  std::sort(first.begin(), first.end());
  bool met = false;
  each_run(b, [&](std::uint64_t begin, std::uint64_t end) {
    if (met) return;
    // Runs of one region either nest in ascending order or overlap each other only as windows do,
    // so that the last one that begins before `end` reaches furthest.
    const auto after =
        std::lower_bound(first.begin(), first.end(), std::pair{end, std::uint64_t{0}});
    met = after != first.begin() && std::prev(after)->second > begin;
  });
  return met;
}

Regions regions_of(const Instruction& instruction) noexcept {
  Regions out;
  const InstructionDef& def = instruction.operation.def();
  if (def.regions) def.regions(instruction.operation.operands(), instruction.queue, out);
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
