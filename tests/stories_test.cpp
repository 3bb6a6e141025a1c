// Runs on every story there is.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/sanitizer.hpp"
#include "story.hpp"

namespace longshore::tests::stories_test {
namespace {

using stories::Comparison;
using stories::Story;

struct Case {
  const Story* story;
  std::string_view stem;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.stem; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (std::size_t i = 0; i < stories::all().size(); i++)
    out.push_back({stories::all()[i], stories::names()[i]});
  return out;
}

class EveryStory : public testing::TestWithParam<Case> {};

TEST_P(EveryStory, SaysWhatItIs) {
  const Story& s = *GetParam().story;
  std::string name(GetParam().stem);
  std::ranges::replace(name, '_', '-');
  EXPECT_EQ(s.name, name);
  EXPECT_FALSE(s.claim.empty());
  EXPECT_NE(s.why.find("Control: "), std::string_view::npos) << "what turns the mechanism off";
}

TEST_P(EveryStory, HoldsAndVanishesWithItsMechanism) {
  const Story& s = *GetParam().story;
  if (address_sanitizer && s.long_one)
    GTEST_SKIP() << "the address sanitizer makes minutes of whole nets";
  const std::vector<Comparison> told = s.tell();
  EXPECT_EQ(stories::holds(told), s.amiss.empty());
  double least_claimed = 0, most_in_control = 0;
  for (const Comparison& c : told) {
    EXPECT_GT(c.slow.ms, 0) << c.slow.what;
    EXPECT_GT(c.fast.ms, 0) << c.fast.what;
    EXPECT_LE(c.lowest, c.highest) << c.what;
    if (s.amiss.empty() || c.control) {
      EXPECT_TRUE(c.holds()) << c.what << ": " << c.ratio() << " is not within " << c.lowest
                             << " and " << c.highest;
    }
    if (c.control) {
      // A range that reaches 1 from both sides: what it allows is no effect.
      EXPECT_LE(c.lowest, 1) << c.what;
      most_in_control = std::max(most_in_control, c.highest);
    } else {
      least_claimed = least_claimed == 0 ? c.lowest : std::min(least_claimed, c.lowest);
    }
  }
  ASSERT_GT(least_claimed, 0) << "a story compares something";
  ASSERT_GT(most_in_control, 0) << "and has a control";
  EXPECT_LT(most_in_control, least_claimed) << "no figure is both the effect and none";
}

INSTANTIATE_TEST_SUITE_P(Stories, EveryStory, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.stem); });

TEST(Story, HoldsWithinItsRangeOnly) {
  const auto compared = [](double slow, double fast) {
    return Comparison{
        .what = "", .slow = {"", slow}, .fast = {"", fast}, .lowest = 2, .highest = 3};
  };
  EXPECT_TRUE(compared(4, 2).holds());
  EXPECT_TRUE(compared(6, 2).holds());
  EXPECT_FALSE(compared(3.9, 2).holds());
  EXPECT_FALSE(compared(6.1, 2).holds());
  EXPECT_TRUE(stories::holds(std::vector{compared(4, 2), compared(5, 2)}));
  EXPECT_FALSE(stories::holds(std::vector{compared(4, 2), compared(2, 2)}));
  EXPECT_FALSE(stories::holds({})) << "what compares nothing shows nothing";
}

}  // namespace
}  // namespace longshore::tests::stories_test
