// Which layers are wide: the cut against all choices of small problems.
#include "quantize/widths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace longshore::tests::widths_test {
namespace {

WidthProblem random_problem(std::mt19937& rng) {
  WidthProblem p;
  const auto some = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(rng);
  };
  const std::size_t layers = 2 + rng() % 7;
  for (std::size_t i = 0; i < layers; i++) {
    const double narrow = some(10);
    p.add_layer(narrow, narrow * (0.8 + some(1.5)));
  }
  for (std::size_t i = 0; i < layers; i++) {
    std::vector<std::size_t> readers;
    for (std::size_t k = i + 1; k < layers; k++)
      if (rng() % 3 == 0) readers.push_back(k);
    p.add_value(rng() % 4 == 0 ? WidthProblem::nobody : i, readers, some(1e-3), some(4));
  }
  return p;
}

template <class See>
void every_choice(const WidthProblem& p, See&& see) {
  for (std::size_t bits = 0; bits < std::size_t{1} << p.layers(); bits++) {
    std::vector<bool> wide(p.layers());
    for (std::size_t i = 0; i < wide.size(); i++) wide[i] = (bits >> i & 1) != 0;
    see(wide);
  }
}

TEST(Widths, NoiseAndPriceByHand) {
  WidthProblem p;
  const std::size_t a = p.add_layer(10, 16), b = p.add_layer(4, 5), c = p.add_layer(1, 3);
  p.add_value(a, {b, c}, 0.5, 2);
  p.add_value(WidthProblem::nobody, {a}, 0.25, 100);
  p.add_value(b, {}, 0.125, 7);
  EXPECT_DOUBLE_EQ(p.noise({false, false, false}), 0.875);
  EXPECT_DOUBLE_EQ(p.noise({true, false, true}), 0.625);
  EXPECT_DOUBLE_EQ(p.noise({true, true, true}), 0);
  EXPECT_DOUBLE_EQ(p.price_us({false, false, false}), 15);
  EXPECT_DOUBLE_EQ(p.price_us({true, false, false}), 16 + 4 + 1 + 2) << "both read one conversion";
  EXPECT_DOUBLE_EQ(p.price_us({false, true, false}), 10 + 5 + 1 + 2);
  EXPECT_DOUBLE_EQ(p.price_us({true, true, true}), 24);
}

TEST(Widths, TheCutIsTheCheapestOfAllChoices) {
  std::mt19937 rng(7);
  for (int i = 0; i < 300; i++) {
    const WidthProblem p = random_problem(rng);
    const double us_for_noise = std::pow(10, std::uniform_real_distribution<double>(0, 6)(rng));
    double least = 1e300;
    every_choice(p, [&](const std::vector<bool>& wide) {
      least = std::min(least, p.price_us(wide) + us_for_noise * p.noise(wide));
    });
    const std::vector<bool> found = p.cheapest(us_for_noise);
    // Prices are whole picoseconds, each rounded down.
    EXPECT_NEAR(p.price_us(found) + us_for_noise * p.noise(found), least, 1e-4) << i;
  }
}

TEST(Widths, StaysWithinTheNoiseAndNearTheBest) {
  std::mt19937 rng(11);
  double paid = 0, best = 0;
  for (int i = 0; i < 300; i++) {
    const WidthProblem p = random_problem(rng);
    const double all = p.noise(std::vector<bool>(p.layers()));
    const double most = all * std::uniform_real_distribution<double>(0.05, 0.9)(rng);
    double least = 1e300, quietest = 1e300;
    every_choice(p, [&](const std::vector<bool>& wide) {
      quietest = std::min(quietest, p.noise(wide));
      if (p.noise(wide) <= most) least = std::min(least, p.price_us(wide));
    });
    const std::vector<bool> found = p.within(most);
    EXPECT_LE(p.noise(found), std::max(most, quietest));
    EXPECT_GE(p.price_us(found), least - 1e-9);
    paid += p.price_us(found), best += least;
  }
  EXPECT_LT(paid, 1.03 * best);
}

}  // namespace
}  // namespace longshore::tests::widths_test
