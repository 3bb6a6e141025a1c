// Runs on every change there is: its cases are its documentation and its test.
#include <gtest/gtest.h>

#include <cmath>

#include "change/change.hpp"
#include "random.hpp"

namespace longshore::tests::change_kinds_test {
namespace {

struct Case {
  const ChangeDef* change;
  std::string_view name;
  ChangeCase text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (std::size_t i = 0; i < changes::all().size(); i++)
    for (const ChangeCase& c : changes::all()[i]->cases)
      out.push_back({changes::all()[i], changes::names()[i], c});
  return out;
}

std::vector<Reason> reasons(const ChangeCase& c) {
  std::vector<Reason> out;
  for (const ChangeCase::Keeps& k : c.keeps)
    out.push_back(
        {"kept", {}, {}, {k.kind, std::string(k.what), std::string(k.from), std::string(k.to)}});
  return out;
}

std::optional<Graph> changed(const ChangeDef& change, const Graph& g,
                             const std::vector<Reason>& why) {
  return apply(change, g, g.nodes.size() - 1, why);
}

/// Names of inner values and origins are not part of what a case promises.
std::string shape_of(const Graph& g) {
  Graph plain = tidy(g);
  std::size_t next = 0;
  for (Value& v : plain.values)
    if ((v.def >= 0 || v.constant.present()) && v.name != plain[plain.outputs[0]].name)
      v.name = "inner" + std::to_string(next++);
  for (Node& n : plain.nodes) n.origin = {};
  return print(plain);
}

void expect_near(const Graph& before, const Graph& after) {
  std::mt19937 rng(seed());
  std::vector<Tensor> in;
  for (ValueId v : before.inputs)
    in.push_back(random_tensor(rng, before[v].type.dtype, *before[v].type.shape()));
  const Tensor want = evaluate(before, in)[0], got = evaluate(after, in)[0];
  ASSERT_EQ(got.shape, want.shape);
  for (std::int64_t i = 0; i < want.elements(); i++) {
    const auto k = static_cast<std::size_t>(i);
    const float w = want.values<float>()[k];
    ASSERT_NEAR(got.values<float>()[k], w, 1e-4 + 1e-4 * std::abs(w)) << "element " << i;
  }
}

class EveryChange : public testing::TestWithParam<Case> {};

TEST_P(EveryChange, DoesWhatItsCaseSays) {
  const auto& [change, name, text] = GetParam();
  const Graph before = parse(text.before);
  EXPECT_TRUE(fits(*change, before.nodes.back(), reasons(text)));
  const std::optional<Graph> after = changed(*change, before, reasons(text));
  ASSERT_EQ(after.has_value(), !text.after.empty()) << change->doc;
  if (!after) return;
  verify(*after);
  EXPECT_EQ(shape_of(*after), shape_of(parse(text.after))) << change->doc;
}

TEST_P(EveryChange, KeepsTheMeaningWhereItSaysSo) {
  const auto& [change, name, text] = GetParam();
  const Graph before = parse(text.before);
  const std::optional<Graph> after = changed(*change, before, reasons(text));
  if (after && change->exact) expect_near(before, *after);
}

TEST_P(EveryChange, FitsNoOtherReason) {
  const auto& [change, name, text] = GetParam();
  const Graph before = parse(text.before);
  std::vector<Reason> more = reasons(text);
  more.push_back({"another", {}, {}, {Wanted::Kind::constant, "w", "computed", "constant"}});
  EXPECT_FALSE(fits(*change, before.nodes.back(), more));
  EXPECT_FALSE(fits(*change, before.nodes.back(), {}));
}

INSTANTIATE_TEST_SUITE_P(Changes, EveryChange, testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.name) + "_" + std::to_string(info.index);
});

/// Kernels that are no multiple of the block, padding, and input that no output looks at.
TEST(LargeStride, KeepsTheConvolutionOfEveryShape) {
  const ChangeDef* change = nullptr;
  for (const ChangeDef* c : changes::all())
    if (name_of(*c) == "large_stride") change = c;
  ASSERT_NE(change, nullptr);
  std::mt19937 rng(seed());
  for (int round = 0; round < 40; round++) {
    const bool image = rng() % 2 == 0;
    const std::int64_t stride = 4 * static_cast<std::int64_t>(1 + rng() % 2),
                       kernel = 1 + static_cast<std::int64_t>(rng() % 9),
                       size = 17 + static_cast<std::int64_t>(rng() % 9),
                       pad = static_cast<std::int64_t>(rng() % static_cast<unsigned>(kernel));
    SCOPED_TRACE("image " + std::to_string(image) + " stride " + std::to_string(stride) +
                 " kernel " + std::to_string(kernel) + " size " + std::to_string(size) + " pad " +
                 std::to_string(pad));
    Graph g;
    const ValueId x = g.add_input(
        "x", TensorType(DType::f32, image ? Shape{1, 3, size, size} : Shape{1, 3, size}));
    const ValueId w = g.add_constant(
        "w",
        random_tensor(rng, DType::f32, image ? Shape{2, 3, kernel, kernel} : Shape{2, 3, kernel}));
    Attributes a;
    a.set("strides", image ? Ints{stride, stride} : Ints{stride});
    a.set("pads", image ? Ints{pad, 0, 0, pad} : Ints{pad, 0});
    g.outputs = {g.add("Conv", {x, w}, std::move(a), "y")};
    std::vector<Reason> why;
    for (const char* fact : {"stride_h", "stride_w"})
      why.push_back({"kept", {}, {}, {Wanted::Kind::fact, fact, std::to_string(stride), "2"}});
    const std::optional<Graph> after = changed(*change, g, why);
    ASSERT_TRUE(after.has_value());
    verify(*after);
    for (const Node& n : after->nodes)
      for (std::int64_t s : n.attributes.integers("strides")) EXPECT_LE(s, 2);
    expect_near(g, *after);
  }
}

}  // namespace
}  // namespace longshore::tests::change_kinds_test
