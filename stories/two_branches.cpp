#include <fmt/format.h>

#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// One branch of a detector's head: two convolutions of 64 channels on 20 x 20 pixels.
std::string branch(char name) {
  return fmt::format(R"(
  {0}1: i8[1,64,20,20] q(0.1, 0) = com.microsoft.FusedConv(t, i8[64,64,3,3] q(0.01, 0) {{1}},
    i32[64] q(0.001, 0) {{1}}, pads=[1,1,1,1], activation="Relu")
  {0}2: i8[1,64,20,20] q(0.1, 0) = Conv({0}1, i8[64,64,3,3] q(0.01, 0) {{1}}, pads=[1,1,1,1])
  {0}: i8[1,20,20,64] q(0.1, 0) = Transpose({0}2, perm=[0,2,3,1])
)",
                     name);
}

double head_ms(const std::string& branches, const std::vector<std::string>& set,
               const std::vector<std::string>& without) {
  std::string text =
      "(x: i8[1,20,20,64] q(0.1, 0)) {\n"
      "  t: i8[1,64,20,20] q(0.1, 0) = Transpose(x, perm=[0,3,1,2])\n";
  std::string outputs;
  for (const char b : branches) {
    text += branch(b);
    outputs += fmt::format("{}{}", outputs.empty() ? "" : ", ", b);
  }
  return program_ms({.graph = text + "  return " + outputs + " }",
                     .target = "rk3588-like",
                     .set = set,
                     .without = without,
                     .force = {"*=npu"}});
}

Comparison on(const std::string& what, const std::vector<std::string>& set,
              const std::vector<std::string>& without) {
  return {.what = what,
          .slow = {"a dispatch each", head_ms("a", set, without) + head_ms("b", set, without)},
          .fast = {"both in one", head_ms("ab", set, without)}};
}

std::vector<Comparison> tell() {
  Comparison one = on("two branches of a detector's head, 20 x 20 pixels", {}, {}),
             free = on("handing over at no cost, each layer by itself",
                       {"control.submit_us=0", "control.interrupt_us=0", "cache.coherent=true",
                        "cpu.step_us=0", "cpu.bandwidth_gbs=100000"},
                       {"branches", "prefetch", "cascades", "horizontal"});
  one.lowest = 1.4, one.highest = 1.7;
  free.lowest = 0.95, free.highest = 1.15, free.control = true;
  return {one, free};
}

}  // namespace

extern constinit const Story story_two_branches = {
    .name = "two-branches",
    .claim = "Two small independent branches in one dispatch take about 35 % less than in two",
    .why =
        "A dispatch costs a submission, an interrupt and the cache, whatever it computes; together "
        "one branch loads while the other computes. 35 % less is a ratio of 1.54, here 1.4 to 1.7; "
        "repeated by engineers. It depends on how long a branch is: of branches that take a "
        "millisecond each nothing is left. Control: handing over at no cost, and a plan in which "
        "nothing overlaps.",
    .tell = tell,
};

}  // namespace longshore::stories
