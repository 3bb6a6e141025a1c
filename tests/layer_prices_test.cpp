// One price: what the plan says of a layer is what the simulator takes for that layer alone, in
// every model and on every target. tests/scripts/layer_prices.py gives real models.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include "base/sanitizer.hpp"
#include "checkout.hpp"
#include "compile/compile.hpp"
#include "lower/lower.hpp"
#include "sim/schedule.hpp"
#include "target/target.hpp"

namespace longshore::tests::layer_prices_test {
namespace {

namespace fs = std::filesystem;

/// The two that come with the project, and one of 128 MACs and 256 KiB of SRAM.
std::vector<Target> priced_targets() {
  return {load_target("rk3588-like"), load_target("shore-1"),
          parse_target("like = \"shore-1\"\nname = \"small\"\n"
                       "[npu.mac]\nrows = 8\ncolumns = 16\n"
                       "[npu.sram]\nbytes = 262144\n",
                       "small")};
}

/// Nanoseconds of the instructions that the whole plan has for this layer, by themselves.
double alone_ns(const plan::Plan& whole, std::size_t layer) {
  plan::Plan alone = whole;
  std::erase_if(alone.items, [&](const plan::Item& item) {
    return !item.npu || alone.tasks[item.index].layer != layer;
  });
  alone.staged_inputs.clear();
  Program program = lower::lower(alone);
  program.steps.clear();
  program.values.clear();
  program.inputs.clear();
  program.outputs.clear();
  Result<Schedule> timed = schedule(program);
  EXPECT_TRUE(timed.ok()) << timed.status().text();
  return timed.ok() ? timed->timing.total_ns : NAN;
}

/// The number of layers, each of which must have the simulator's time as its price.
std::size_t check_prices(const plan::Plan& p, const std::string& what) {
  double worst = 0;
  for (std::size_t i = 0; i < p.layers.size(); i++) {
    const double ns = alone_ns(p, i);
    EXPECT_NEAR(p.layers[i].time.total, ns, 0.05 * ns) << what << ", layer " << i;
    worst = std::max(worst, std::abs(p.layers[i].time.total / ns - 1));
  }
  std::cout << what << ": " << p.layers.size() << " layers, worst price off by " << 100 * worst
            << " %\n";
  return p.layers.size();
}

void check_model(const std::string& model, const std::map<std::string, std::int64_t>& dims) {
  std::size_t layers = 0;
  for (const Target& target : priced_targets()) {
    compile::Options options;
    options.source.path = model;
    options.source.dims = dims;
    options.target = target;
    options.quantise = compile::Quantise::always;
    options.last = compile::Stage::plan;
    layers += check_prices(compile::compile(options).plan,
                           fs::path(model).filename().string() + " " + target.name);
  }
  EXPECT_GT(layers, 0U) << model;
}

TEST(LayerPrices, OfEveryKindOfForm) {
  const Graph g = parse(R"((x: i8[1,16,24,24] q(0.1, 3)) {
    a: i8[1,16,24,24] q(0.05, -5) = Sigmoid(x)
    b: i8[1,16,24,24] q(0.05, -5) = MaxPool(a, kernel_shape=[3,3], pads=[1,1,1,1])
    c: i8[1,16,24,24] q(0.1, 1) = Add(b, x)
    d: i8[1,16,1,1] q(0.05, 2) = GlobalAveragePool(c) return d })");
  for (const Target& target : priced_targets())
    EXPECT_GT(check_prices(lower::timed_plan(place(g, target, {.by_price = false})), target.name),
              0U);
}

TEST(LayerPrices, OfModels) {
  if (const char* given = std::getenv("LONGSHORE_PRICED_MODEL")) {
    // MODEL dim=N dim=N
    std::istringstream words(given);
    std::string model, dim;
    words >> model;
    std::map<std::string, std::int64_t> dims;
    while (words >> dim)
      dims[dim.substr(0, dim.find('='))] = std::stoll(dim.substr(dim.find('=') + 1));
    return check_model(model, dims);
  }
  std::set<fs::path> models;
  for (const fs::directory_entry& file : fs::directory_iterator(in_checkout("zoo")))
    if (file.path().extension() == ".onnx") models.insert(file.path());
  ASSERT_FALSE(models.empty());
  if (address_sanitizer) models = {*models.rbegin()};  // each takes 40 times as long
  for (const fs::path& model : models) check_model(model.string(), {});
}

}  // namespace
}  // namespace longshore::tests::layer_prices_test
