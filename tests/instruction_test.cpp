// Instructions as values: their text, changes by inject, the timeline.
#include <gtest/gtest.h>

#include <set>

#include "measure/chrome_trace.hpp"
#include "npu_program.hpp"
#include "program/instruction_def.hpp"
#include "program/print.hpp"
#include "random.hpp"
#include "sim/inject.hpp"
#include "sim/verify.hpp"

namespace longshore::instruction_test {
namespace {

using tests::Pipeline;
using tests::PipelineHost;

TEST(Print, NamesWhatIsNotUsual) {
  Instruction i;
  i.queue = Queue::mac, i.layer = 4;
  Conv c;
  c.in_c = 16, c.accumulate = true, c.in_zero = -3;
  i.operation = c;
  EXPECT_EQ(print(i), "mac.0 conv accumulate=1 in_c=16 in_zero=-3 layer=4");
  i.operation = Wait{};
  EXPECT_EQ(print(i), "mac.0 wait semaphore=0 layer=4");
}

/// Every operation has operands to change, and only the drawn one changes, one that it uses.
TEST(Inject, ChangesOneOperandOfAnyOperation) {
  Program p;
  std::size_t with_operands = 0;
  for (const InstructionDef* def : instructions::all()) {
    p.queues[3].push_back({Queue::vector, 0, no_index, Operation(*def)});
    with_operands += def->fields.empty() ? 0 : 1;
  }
  std::set<std::size_t> changed;
  for (unsigned n = 0; n < 5000; n++) {  // so many that none is missed
    const Injection change = *inject(p, tests::seed() * 1000 + n);
    std::vector<Instruction> others = change.program.queues[3];
    EXPECT_FALSE(others[change.index] == p.queues[3][change.index]) << change.text;
    EXPECT_TRUE(uses(p.queues[3][change.index].operation, change.field)) << change.text;
    others[change.index] = p.queues[3][change.index];
    EXPECT_TRUE(others == p.queues[3]) << change.text;
    changed.insert(change.index);
  }
  EXPECT_EQ(changed.size(), with_operands);  // all but End
}

/// Of a change of one operand, the verifier or the bytes tell, or it is an operand without effect
/// here.
TEST(Inject, OneChangeIsNoticed) {
  const Pipeline p(4);
  ASSERT_TRUE(verify(p.program).empty());
  PipelineHost good(p);
  const std::vector<std::int8_t> expected = p.expected(good.input);
  std::set<std::string> quiet, fields;
  int refused = 0, different = 0;
  for (unsigned n = 0; n < 2000; n++) {
    const std::optional<Injection> change = inject(p.program, tests::seed() * 10007 + n);
    ASSERT_TRUE(change);
    ASSERT_NE(change->before, change->after) << change->text;
    fields.insert(change->field);
    if (!verify(change->program).empty()) {
      refused++;
      continue;
    }
    PipelineHost host(p);
    Result<Simulator> simulator = Simulator::create(change->program);
    ASSERT_TRUE(simulator.ok()) << change->text;
    std::vector<std::byte> arena(p.program.arena_bytes);
    ASSERT_TRUE(simulator->run(arena, host).ok()) << change->text;
    if (host.output == expected)
      quiet.insert(change->field);
    else
      different++;
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(different, 15);
  EXPECT_GT(fields.size(), 40u);
  // Used, and yet without effect here: clamps that no code reaches, roundings that differ in ties,
  // more constants than are read.
  for (const std::string& field : quiet)
    EXPECT_TRUE(field == "lowest" || field == "highest" || field == "rounding" ||
                field == "run_bytes")
        << field;
}

TEST(ChromeTrace, HasARowPerQueueAndAnEventPerInterval) {
  const Pipeline p(3);
  const Result<Timing> timing = predict(p.program);
  ASSERT_TRUE(timing.ok());
  const std::string json = chrome_trace(p.program, *timing);
  const auto count = [&](const char* what) {
    std::size_t n = 0;
    for (std::size_t at = json.find(what); at != std::string::npos; at = json.find(what, at + 1))
      n++;
    return n;
  };
  EXPECT_EQ(count("\"thread_name\""), 5u);
  EXPECT_EQ(count("\"ph\": \"X\""), timing->intervals.size());
  EXPECT_GT(timing->intervals.size(), 20u);
  EXPECT_EQ(count("{"), count("}"));
}

}  // namespace
}  // namespace longshore::instruction_test
