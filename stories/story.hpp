// A rule of thumb that engineers repeat, as an experiment on the simulator: what is said to be slow
// and what is said to be fast are both built and timed, and again with the mechanism that is said
// to make the difference turned off. docs/stories.md is the chapter.
//
// A story is one file, stories/<stem>.cpp, which defines `stories::story_<stem>`.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longshore::stories {

/// One of the two ways in a comparison, and the milliseconds that it takes.
struct Way {
  std::string what;
  double ms = 0;
};

/// Two ways to do the same work.
struct Comparison {
  std::string what;
  Way slow, fast;
  double lowest = 0, highest = 0;  // that slow / fast is said to be, both allowed
  bool control = false;            // with the mechanism turned off: nothing to see

  double ratio() const { return slow.ms / fast.ms; }
  bool holds() const { return ratio() >= lowest && ratio() <= highest; }
};

struct Story {
  std::string_view name, claim;  // the claim in one sentence, with its figure
  std::string_view why;          // the mechanism, where the figure is from, and the control
  std::vector<Comparison> (*tell)();
  /// Why the claim does not hold on our machines; empty where it does.
  std::string_view amiss = {};
  /// It takes seconds: whole nets are planned.
  bool long_one = false;
};

/// All comparisons, the controls included.
bool holds(std::span<const Comparison>);

/// The stories, by name of their files; and the stems of these.
std::span<const Story* const> all();
std::span<const std::string_view> names();

}  // namespace longshore::stories
