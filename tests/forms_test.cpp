// Every form on every target that allows it: what its examples compute on the simulator is what the
// reference computes, byte for byte.
#include <gmock/gmock.h>

#include "npu_case.hpp"

namespace longshore::tests::forms_test {
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

}  // namespace
}  // namespace longshore::tests::forms_test
