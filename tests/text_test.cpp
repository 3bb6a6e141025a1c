// Messages: parts are written as a stream writes them.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>

namespace longshore::text_test {
namespace {

template <class... Ts>
std::string streamed(const Ts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

TEST(Text, PartsAreWrittenAsAStreamWritesThem) {
  EXPECT_EQ(str(), "");
  const auto same = [](const auto&... parts) { EXPECT_EQ(str(parts...), streamed(parts...)); };
  same("conv ", 3, std::string(" of "), std::string_view("nine"), ':', true, false);
  same(std::numeric_limits<std::int64_t>::min(), ' ', std::numeric_limits<std::uint64_t>::max());
  same(std::int16_t{-7}, std::uint16_t{65535}, std::size_t{0});
  for (double x : {0.0, -0.0, 1.0, 0.1, 1e-7, 123456.0, 1234567.0, -1.0 / 3, 1e300})
    same(x, ' ', static_cast<float>(x));
  same(std::numeric_limits<double>::infinity(), ' ', -std::numeric_limits<float>::infinity());
}

// A stream takes it for a character.
TEST(Text, ABytePrintsAsANumber) {
  EXPECT_EQ(str(std::uint8_t{65}, " ", std::int8_t{-3}), "65 -3");
}

}  // namespace
}  // namespace longshore::text_test
