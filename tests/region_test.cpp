// Whether two regions share a byte, against a look at every byte.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "program/region.hpp"
#include "random.hpp"

namespace longshore::tests::region_test {
namespace {

Region random_region(std::mt19937& rng) {
  const auto pick = [&](std::uint64_t low, std::uint64_t high) {
    return low + rng() % (high - low + 1);
  };
  Region r;
  r.address = pick(0, 60);
  r.run = pick(1, 9);
  // Strides of two regions are often equal, as those of tiles of one tensor are; some are below
  // what they step over.
  const std::uint64_t strides[] = {0, 1, 4, 12, 12, 16, 40, 48, pick(1, 60)};
  for (int i = 0; i < 3; i++) r.count[i] = pick(1, 4), r.stride[i] = strides[rng() % 9];
  return r;
}

std::set<std::uint64_t> bytes_of(const Region& r) {
  std::set<std::uint64_t> out;
  for (std::uint64_t i = 0; i < r.count[0]; i++)
    for (std::uint64_t j = 0; j < r.count[1]; j++)
      for (std::uint64_t k = 0; k < r.count[2]; k++)
        for (std::uint64_t b = 0; b < r.run; b++)
          out.insert(r.address + i * r.stride[0] + j * r.stride[1] + k * r.stride[2] + b);
  return out;
}

TEST(Region, OverlapIsThatOfTheBytes) {
  std::mt19937 rng(seed());
  int apart = 0, count = 4000;
  for (int i = 0; i < count; i++) {
    const Region a = random_region(rng), b = random_region(rng);
    const std::set<std::uint64_t> first = bytes_of(a), second = bytes_of(b);
    const bool shared =
        std::any_of(first.begin(), first.end(), [&](auto byte) { return second.contains(byte); });
    ASSERT_EQ(overlap(a, b), shared) << i;
    ASSERT_EQ(overlap(b, a), shared) << i;
    apart += !shared;
  }
  EXPECT_GT(apart, count / 10);
  EXPECT_LT(apart, count - count / 10);
}

}  // namespace
}  // namespace longshore::tests::region_test
