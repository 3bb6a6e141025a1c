// How the command line ends where a command throws: its exit code and its one line.
#include "ending.hpp"

#include <gmock/gmock.h>

#include <new>

#include "base/error.hpp"
#include "compile/compile.hpp"
#include "sim/verify.hpp"

namespace longshore::tests::ending_test {
namespace {

using testing::HasSubstr;

template <class F>
Ending ending(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return ending_of(e);
  }
  return {exit_code::yes, {}};
}

TEST(Ending, EachCodeHasItsExitCode) {
  for (const Code code : {Code::bad_model, Code::bad_argument, Code::unsupported, Code::arithmetic,
                          Code::exhausted, Code::io})
    EXPECT_EQ(ending([&] { fail(code, "why"); }).code, 2);
  const Ending ours = ending([] { check(false, "a rule that does not hold"); });
  EXPECT_EQ(ours.code, 70);
  EXPECT_THAT(ours.text, HasSubstr("ending_test.cpp:"));
  EXPECT_THAT(ours.text, HasSubstr("this is a bug: a rule that does not hold"));
  const Ending unknown = ending([] { throw std::out_of_range("vector::at"); });
  EXPECT_EQ(unknown.code, 70);
  EXPECT_EQ(unknown.text, "this is a bug: vector::at");
  const Ending memory = ending([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code, 2);
  EXPECT_EQ(memory.text, "out of memory");
}

plan::Plan convolution() {
  const Graph g = parse(R"((x: i8[1,3,40,40] q(0.1, 3)) {
    y: i8[1,4,38,38] q(0.05, -5) = Conv(x, i8[4,3,3,3] q(0.02, 0){1}) return y })");
  return plan::make_plan(place(g, load_target("shore-1"), {.by_price = false}));
}

// A refusal is our fault and says all that the verifier said: no Status on the way has cut it.
TEST(Ending, ARefusedProgramIsOurFaultAndItsMessageIsWhole) {
  plan::Plan plan = convolution();
  EXPECT_EQ(ending([&] { compile::prove(lower::lower(plan)); }).code, 0);
  plan.tasks[0].operands[0].filled = true;  // nobody loads what it reads
  const Program bad = lower::lower(plan);
  const std::vector<Refusal> refusals = verify(bad, 1);
  ASSERT_EQ(refusals.size(), 1u);
  ASSERT_GT(refusals[0].text.size(), 255u) << "a Status could hold it: " << refusals[0].text;
  const Ending e = ending([&] { compile::prove(bad, "the program of m.lsb"); });
  EXPECT_EQ(e.code, 70);
  EXPECT_EQ(e.text,
            "this is a bug: the verifier refuses the program of m.lsb: " + refusals[0].text);
  EXPECT_EQ(complaint(e.text), "longshore: " + e.text);
}

// Scripts read one line.
TEST(Ending, AComplaintIsOneLine) {
  EXPECT_EQ(complaint("node 'a\nb'\r\nis wrong"), "longshore: node 'a b'  is wrong");
}

// Counters that are too small are the target's matter.
TEST(Ending, ASemaphoreLimitIsNoFaultOfOurs) {
  Program p = lower::lower(convolution());
  p.machine.semaphore_limit = 1;
  const Ending e = ending([&] { compile::prove(p); });
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.text, HasSubstr("shore-1 has a semaphore_limit of 1"));
}

}  // namespace
}  // namespace longshore::tests::ending_test
