#include "plan/arena.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.hpp"

namespace longshore::plan {
namespace {

/// Buffers that share one place one after the other: a chain of in-place steps.
struct Block {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
  std::uint64_t offset = 0;
  std::uint32_t newest = no_buffer;  // the buffer that has the place in the end
};

std::uint64_t aligned(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Fills `block_of` and returns the blocks. A hint is taken if the newcomer fills the place
/// exactly: a smaller one would keep the rest of it from others.
std::vector<Block> join(std::span<const Buffer> buffers, std::uint64_t alignment,
                        std::vector<std::uint32_t>& block_of) {
  std::vector<std::uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return buffers[a].first < buffers[b].first;
  });
  std::vector<Block> blocks;
  block_of.assign(buffers.size(), no_buffer);
  for (std::uint32_t i : order) {
    const Buffer& b = buffers[i];
    check(b.first <= b.last, "a buffer ends before it begins");
    const std::uint64_t bytes = aligned(b.bytes, alignment);
    if (b.in_place_of < buffers.size() && block_of[b.in_place_of] != no_buffer) {
      Block& old = blocks[block_of[b.in_place_of]];
      if (old.newest == b.in_place_of && old.last == b.first && old.bytes == bytes &&
          buffers[b.in_place_of].first < b.first) {
        old.last = b.last;
        old.newest = i;
        block_of[i] = block_of[b.in_place_of];
        continue;
      }
    }
    block_of[i] = static_cast<std::uint32_t>(blocks.size());
    blocks.push_back({bytes, b.first, b.last, 0, i});
  }
  return blocks;
}

/// Places the blocks in this order, each into the smallest gap that holds it.
std::uint64_t place(std::vector<Block>& blocks, const std::vector<std::uint32_t>& order) {
  std::vector<const Block*> placed;  // by offset
  std::uint64_t end = 0;
  for (std::uint32_t i : order) {
    Block& b = blocks[i];
    if (b.bytes == 0) continue;
    std::uint64_t free_from = 0, best = 0, best_gap = ~std::uint64_t{0};
    bool found = false;
    for (const Block* p : placed) {
      if (p->last < b.first || b.last < p->first) continue;
      if (p->offset > free_from) {
        const std::uint64_t gap = p->offset - free_from;
        if (gap >= b.bytes && gap < best_gap) {
          best = free_from;
          best_gap = gap;
          found = true;
        }
      }
      free_from = std::max(free_from, p->offset + p->bytes);
    }
    b.offset = found ? best : free_from;
    end = std::max(end, b.offset + b.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &b,
                         [](const Block* x, const Block* y) { return x->offset < y->offset; }),
        &b);
  }
  return end;
}

std::uint64_t most_alive(std::span<const Block> blocks) {
  struct Event {
    std::uint64_t at;  // twice the step: births are even, deaths odd
    std::uint64_t bytes;
  };
  std::vector<Event> events;
  for (const Block& b : blocks) {
    events.push_back({std::uint64_t{b.first} * 2, b.bytes});
    events.push_back({std::uint64_t{b.last} * 2 + 1, b.bytes});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.at < b.at; });
  std::uint64_t alive = 0, most = 0;
  for (const Event& e : events) {
    if (e.at % 2 == 0)
      alive += e.bytes;
    else
      alive -= e.bytes;
    most = std::max(most, alive);
  }
  return most;
}

/// Tries other orders: a block that ends highest goes before another one, at random, and the change
/// stays where it makes nothing worse. Ends at the lower bound or when the work is done.
void climb(std::vector<Block>& best, Arena& arena) {
  if (best.size() < 2 || arena.bytes == arena.lower_bound) return;
  constexpr std::uint64_t steps = 20'000'000;  // looks at a placed block: some tenths of a second
  const std::uint64_t tries = std::min<std::uint64_t>(4000, steps / (best.size() * best.size()));
  std::vector<std::uint32_t> order(best.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return best[a].offset < best[b].offset;
  });
  std::minstd_rand random;  // the same for all: equal input gives equal output
  std::vector<Block> blocks = best;
  std::uint64_t now = place(blocks, order);
  for (std::uint64_t i = 0; i < tries && arena.bytes > arena.lower_bound; i++) {
    std::vector<std::size_t> highest;
    for (std::size_t k = 0; k < order.size(); k++)
      if (blocks[order[k]].offset + blocks[order[k]].bytes == now && k > 0) highest.push_back(k);
    std::vector<std::uint32_t> other = order;
    const std::size_t from = highest.empty() || i % 4 == 3 ? 1 + random() % (order.size() - 1)
                                                           : highest[random() % highest.size()],
                      to = random() % from;
    std::rotate(other.begin() + static_cast<std::ptrdiff_t>(to),
                other.begin() + static_cast<std::ptrdiff_t>(from),
                other.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    std::vector<Block> moved = blocks;
    const std::uint64_t bytes = place(moved, other);
    if (bytes > now) continue;
    now = bytes;
    order = std::move(other);
    blocks = std::move(moved);
    if (bytes < arena.bytes) {
      arena.bytes = bytes;
      best = blocks;
    }
  }
}

}  // namespace

Arena plan_arena(std::span<const Buffer> buffers, std::uint64_t alignment) {
  check(alignment > 0, "an arena without alignment");
  std::vector<std::uint32_t> block_of;
  std::vector<Block> blocks = join(buffers, alignment, block_of), best_blocks;
  Arena arena;
  arena.lower_bound = most_alive(blocks);

  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto attempt = [&](auto&& before) {
    if (!best_blocks.empty() && arena.bytes == arena.lower_bound) return;
    std::vector<std::uint32_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
      return before(blocks[a], blocks[b]);
    });
    const std::uint64_t bytes = place(blocks, sorted);
    if (!best_blocks.empty() && bytes >= arena.bytes) return;
    arena.bytes = bytes;
    best_blocks = blocks;
  };
  attempt([](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  attempt([](const Block& a, const Block& b) {
    const std::uint32_t x = a.last - a.first, y = b.last - b.first;
    return x != y ? x > y : a.bytes > b.bytes;
  });
  attempt([](const Block& a, const Block& b) { return a.first < b.first; });

  climb(best_blocks, arena);
  for (std::size_t i = 0; i < buffers.size(); i++)
    arena.offsets.push_back(best_blocks[block_of[i]].offset);
  return arena;
}

}  // namespace longshore::plan
