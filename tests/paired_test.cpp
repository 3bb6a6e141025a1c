#include "measure/paired.hpp"

#include <gtest/gtest.h>

namespace longshore::tests::paired_test {
namespace {

void expect(std::size_t n, std::size_t only_first, std::size_t only_second, double points,
            double low, double high) {
  const PairedDifference d = paired_difference(n, only_first, only_second);
  EXPECT_NEAR(d.points, points, 5e-4);
  EXPECT_NEAR(d.low, low, 5e-4);
  EXPECT_NEAR(d.high, high, 5e-4);
}

// Each by hand from N = n + 2, B = b + 1/2, C = c + 1/2: (C - B) / N +- 1.959964 sqrt(B + C - (C -
// B)^2 / N) / N.
TEST(PairedDifference, IsAgrestiAndMins) {
  expect(98, 2, 12, 10.2041, 10 - 7.3335, 10 + 7.3335);  // N = 100, sqrt(15 - 1) = 3.741657
  expect(98, 12, 2, -10.2041, -10 - 7.3335, -10 + 7.3335);
  // Approval of a prime minister, of 1600 asked twice (Agresti, Categorical Data Analysis, where
  // Wald's own interval is -6 to -2): N = 1602, sqrt(237 - 64^2 / 1602) = 15.311538.
  expect(1600, 150, 86, -4.0, -5.8683, -2.1217);
}

TEST(PairedDifference, HasAWidthWhereNothingDiffers) {
  expect(98, 0, 0, 0, -1.959964, 1.959964);  // sqrt(1) / 100
}

TEST(PairedDifference, EndsAtAllOfTheSamples) {
  expect(1, 0, 1, 100, 100 * (1.0 / 3 - 1.959964 * 1.2909944 / 3), 100);  // sqrt(2 - 1 / 3)
  expect(1, 1, 0, -100, -100, 100 * (1.959964 * 1.2909944 / 3 - 1.0 / 3));
}

}  // namespace
}  // namespace longshore::tests::paired_test
