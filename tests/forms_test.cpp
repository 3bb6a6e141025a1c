// Every form on every target that allows it: what its examples compute on the simulator is what the
// reference computes, byte for byte; and what a plan says of a layer's time is what it takes.
#include <gmock/gmock.h>

#include "npu_case.hpp"
#include "sim/schedule.hpp"

namespace longshore::tests {
namespace {

class EveryForm : public testing::TestWithParam<const forms::FormDef*> {};

TEST_P(EveryForm, SaysWhatItIs) {
  const forms::FormDef& f = *GetParam();
  EXPECT_FALSE(f.name.empty());
  EXPECT_FALSE(f.doc.empty());
  EXPECT_FALSE(f.examples.empty());
  EXPECT_TRUE(f.limits != nullptr && f.operands != nullptr);
  EXPECT_EQ(f.cycles != nullptr, f.emit != nullptr);
  EXPECT_EQ(forms::find(f.name), &f);
  if (f.like.empty()) return;
  EXPECT_NE(forms::find(f.like), nullptr);
  EXPECT_NE(f.applies, nullptr);
}

TEST_P(EveryForm, RunsItsExamplesExactly) {
  const forms::FormDef& f = *GetParam();
  bool ran = false;
  for (const TargetName& name : target_names()) {
    const Target target = load_target(name.name);
    if (!target.machine.present) continue;
    for (std::string_view text : f.examples) {
      const Graph g = parse(text);
      const Placement p = place(g, target, {.by_price = false});
      const bool used = std::ranges::any_of(
          p.nodes, [&](const NodePlacement& n) { return n.on_npu() && n.form() == &f; });
      SCOPED_TRACE(std::string(f.name) + " on " + target.name);
      for (const std::uint32_t sram : {0u, 16384u, 4096u}) expect_exact(g, target, sram, seed());
      ran = ran || used;
    }
  }
  EXPECT_TRUE(ran) << "no target runs an example of the form " << f.name;
}

INSTANTIATE_TEST_SUITE_P(Forms, EveryForm,
                         testing::ValuesIn(forms::all().begin(), forms::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Forms, EveryOperatorAsksForOneThatIsThere) {
  for (const OpDef* op : ops::all()) {
    if (!op->form) continue;
    EXPECT_NE(forms::find(form_name(*op)), nullptr) << qualified_name(*op);
  }
}

// One price: the plan's for a layer is the simulator's for that layer alone.
TEST(Forms, APlansPriceIsTheSimulatorsTime) {
  const Graph g = parse(R"((x: i8[1,16,24,24] q(0.1, 3)) {
    a: i8[1,16,24,24] q(0.05, -5) = Sigmoid(x)
    b: i8[1,16,24,24] q(0.05, -5) = MaxPool(a, kernel_shape=[3,3], pads=[1,1,1,1])
    c: i8[1,16,24,24] q(0.1, 1) = Add(b, x)
    d: i8[1,16,1,1] q(0.05, 2) = GlobalAveragePool(c) return d })");
  for (const char* target : {"rk3588-like", "shore-1"}) {
    const plan::Plan p = lower::timed_plan(place(g, load_target(target), {.by_price = false}));
    ASSERT_FALSE(p.layers.empty());
    for (std::size_t i = 0; i < p.layers.size(); i++) {
      const double ns = lower::layer_time(p, p.layers[i]).total;
      EXPECT_NEAR(p.layers[i].time.total, ns, 0.05 * ns) << target << ", layer " << i;
      // The shipped program's instructions of that layer, by themselves.
      plan::Plan alone = p;
      std::erase_if(alone.items, [&](const plan::Item& item) {
        return !item.npu || alone.tasks[item.index].layer != i;
      });
      alone.staged_inputs.clear();
      Program program = lower::lower(alone);
      program.steps.clear();
      program.values.clear();
      program.inputs.clear();
      program.outputs.clear();
      Result<Schedule> timed = schedule(program);
      ASSERT_TRUE(timed.ok()) << timed.status().text();
      EXPECT_NEAR(timed->timing.total_ns, ns, 0.05 * ns) << target << ", layer " << i;
    }
  }
}

}  // namespace
}  // namespace longshore::tests
