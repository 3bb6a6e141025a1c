#include "plan/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "random.hpp"

namespace longshore::plan::arena_test {
namespace {

bool in_place(const std::vector<Buffer>& b, std::size_t i, std::size_t j) {
  return (b[j].in_place_of == i && b[i].last == b[j].first) ||
         (b[i].in_place_of == j && b[j].last == b[i].first);
}

void expect_sound(const std::vector<Buffer>& buffers, const Arena& arena, std::uint64_t alignment) {
  ASSERT_EQ(arena.offsets.size(), buffers.size());
  EXPECT_GE(arena.bytes, arena.lower_bound);
  for (std::size_t i = 0; i < buffers.size(); i++) {
    EXPECT_EQ(arena.offsets[i] % alignment, 0u);
    EXPECT_LE(arena.offsets[i] + buffers[i].bytes, arena.bytes);
    for (std::size_t j = 0; j < i; j++) {
      const bool together =
          buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool overlap = arena.offsets[i] < arena.offsets[j] + buffers[j].bytes &&
                           arena.offsets[j] < arena.offsets[i] + buffers[i].bytes;
      EXPECT_FALSE(together && overlap && !in_place(buffers, i, j)) << i << " and " << j;
    }
  }
}

// The most bytes alive at one step, counted step by step, without those that might be overwritten.
std::uint64_t alive_at_worst(const std::vector<Buffer>& buffers, std::uint32_t steps) {
  std::uint64_t most = 0;
  for (std::uint32_t t = 0; t < steps; t++) {
    std::uint64_t alive = 0;
    for (const Buffer& b : buffers) {
      if (t < b.first || t > b.last) continue;
      const bool may_be_taken =
          b.last == t && std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& c) {
            return c.in_place_of < buffers.size() && &buffers[c.in_place_of] == &b && c.first == t;
          });
      if (!may_be_taken) alive += b.bytes;
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(Arena, RandomLifetimesNeverOverlap) {
  std::mt19937 rng(tests::seed());
  int above = 0;  // sets that need a twentieth more than the bound
  for (int round = 0; round < 300; round++) {
    const std::uint32_t steps = 1 + rng() % 30;
    std::vector<Buffer> buffers(rng() % 40);
    for (std::size_t i = 0; i < buffers.size(); i++) {
      Buffer& b = buffers[i];
      b.bytes = rng() % 5 == 0 ? 0 : 1 + rng() % 5000;
      b.first = rng() % steps;
      b.last = b.first + rng() % (steps - b.first);
      if (i > 0 && rng() % 3 == 0) {
        b.in_place_of = static_cast<std::uint32_t>(rng() % i);
        if (rng() % 2 &&
            buffers[b.in_place_of].last >= b.first) {  // often a hint that can be taken
          b.bytes = buffers[b.in_place_of].bytes;
          b.first = buffers[b.in_place_of].last;
          b.last = std::max(b.last, b.first);
        }
      }
    }
    const std::uint64_t alignment = round % 2 ? 64 : 16;
    const Arena arena = plan_arena(buffers, alignment);
    expect_sound(buffers, arena, alignment);
    EXPECT_GE(arena.lower_bound, alive_at_worst(buffers, steps));
    above += arena.bytes * 20 > arena.lower_bound * 21;
  }
  EXPECT_LE(above, 15);
}

TEST(Arena, AChainNeedsTwoBuffers) {
  std::vector<Buffer> buffers;
  for (std::uint32_t i = 0; i < 10; i++) buffers.push_back({1000, i, i + 1});
  const Arena arena = plan_arena(buffers);
  EXPECT_EQ(arena.bytes, 2048u);
  EXPECT_EQ(arena.lower_bound, 2048u);
}

TEST(Arena, AnInPlaceChainNeedsOne) {
  std::vector<Buffer> buffers;
  for (std::uint32_t i = 0; i < 10; i++) buffers.push_back({1000, i, i + 1, i ? i - 1 : no_buffer});
  const Arena arena = plan_arena(buffers);
  EXPECT_EQ(arena.bytes, 1024u);
  EXPECT_EQ(arena.lower_bound, 1024u);
}

TEST(Arena, OnlyOneMayTakeThePlace) {
  const std::vector<Buffer> buffers = {{64, 0, 1}, {64, 1, 2, 0}, {64, 1, 2, 0}};
  const Arena arena = plan_arena(buffers);
  EXPECT_NE(arena.offsets[1], arena.offsets[2]);
  EXPECT_EQ(arena.bytes, 128u);
}

TEST(Arena, FillsAGapBetweenLongLivedBuffers) {
  // Both long ones overlap the short ones; the short ones share one place.
  const std::vector<Buffer> buffers = {{640, 0, 9}, {128, 0, 3}, {64, 4, 6}, {128, 7, 9}};
  const Arena arena = plan_arena(buffers);
  EXPECT_EQ(arena.bytes, 768u);
  EXPECT_EQ(arena.offsets[1], arena.offsets[3]);
}

}  // namespace
}  // namespace longshore::plan::arena_test
