#include "compile/cliffs.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "build_report.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "command_line.hpp"
#include "json.hpp"
#include "model_options.hpp"
#include "say.hpp"
#include "table.hpp"
#include "target_options.hpp"

namespace longshore::commands {
namespace {

using compile::Cliff;
using compile::SizeTime;
using compile::Varied;

struct Options {
  ModelOptions model;
  PictureOptions image;
  CalibrateOptions calibrate;
  std::string target, vary;
  std::vector<std::string> set;
  unsigned layers = 5, reach = 16;
  double factor = 1.3;
  bool json = false;
};

/// Times around a size that something of the model has.
struct Study {
  std::string what, varied;
  std::int64_t size = 0;
  std::vector<SizeTime> times;
  std::vector<Cliff> cliffs;
};

/// The cheapest size in reach that holds all there is: what rounding up would take.
std::int64_t fastest_above(const Study& s) {
  const SizeTime* best = nullptr;
  for (const SizeTime& t : s.times)
    if (t.size >= s.size && (best == nullptr || t.us < best->us)) best = &t;
  return best ? best->size : s.size;
}

std::vector<Study> studies(const Options& o, compile::Options options) {
  std::vector<Study> out;
  const int reach = static_cast<int>(o.reach);
  if (!o.vary.empty()) {
    const auto given = options.source.dims.find(o.vary);
    if (given == options.source.dims.end())
      fail(Code::bad_argument, "--vary ", o.vary,
           ": expected a dim that --dim gives a size, as in --dim ", o.vary, "=128");
    Study s{"the model", o.vary, given->second};
    for (std::int64_t n = std::max<std::int64_t>(1, s.size - reach); n <= s.size + reach; n++)
      s.times.push_back({n, compile::model_ms(options, o.vary, n) * 1e3});
    out.push_back(std::move(s));
  } else {
    const compile::Compiled c = compile_shown(options);
    warn_of_unused(o.calibrate, c);
    std::vector<std::size_t> layers = compile::variable_layers(c);
    layers.resize(std::min<std::size_t>(layers.size(), o.layers));
    for (std::size_t node : layers)
      for (const Varied v :
           {Varied::input_channels, Varied::output_channels, Varied::rows, Varied::columns}) {
        Study s{c.plan.placement.graph.nodes[node].origin.name, std::string(name(v)),
                compile::size_of(c, node, v)};
        s.times = compile::vary_layer(c, node, v, reach, options.plan);
        if (!s.times.empty()) out.push_back(std::move(s));
      }
  }
  for (Study& s : out) s.cliffs = compile::find_cliffs(s.times, o.factor);
  return out;
}

void show(const Options& o, const std::vector<Study>& all) {
  Table t;
  t.columns = {{"layer", 17, false},
               {"of", 15, false},
               {"has", 5},
               {"from", 5},
               {"us", 7},
               {"to", 5},
               {"us", 7},
               {"", 5},
               {"better", 6}};
  t.columns[0].heading = o.vary.empty() ? "layer" : "";
  for (const Study& s : all)
    for (const Cliff& c : s.cliffs)
      t.rows.push_back({.cells = {s.what, s.varied, str(s.size), str(c.low.size),
                                  fmt::format("{:.1f}", c.low.us), str(c.high.size),
                                  fmt::format("{:.1f}", c.high.us),
                                  fmt::format("x{:.2f}", c.jump()), str(c.better())}});
  if (t.rows.empty())
    std::cout << wrapped(
                     fmt::format("no time jumps by more than {} between two sizes side by side, "
                                 "{} below to {} above each",
                                 o.factor, o.reach, o.reach),
                     0, 2)
              << "\n";
  else
    std::cout << t.text();
  std::size_t times = 0;
  for (const Study& s : all) times += s.times.size();
  std::cout << fmt::format("\n{} sizes of {} dimensions tried on {}\n", times, all.size(),
                           o.target);
  for (const Study& s : all) {
    const auto at = [&](std::int64_t size) {
      const auto found = std::ranges::find(s.times, size, &SizeTime::size);
      return found == s.times.end() ? 0.0 : found->us;
    };
    const std::int64_t best = fastest_above(s);
    if (best == s.size || at(best) <= 0 || at(s.size) / at(best) <= o.factor) continue;
    std::cout << wrapped(fmt::format("{}: {} {} take {:.1f} us, {} would take {:.1f}", s.what,
                                     s.size, s.varied, at(s.size), best, at(best)),
                         0, 2)
              << "\n";
  }
}

int run(const Options& o) {
  compile::Options options;
  options.target = load_target(o.target, o.set);
  if (!options.target->machine.present)
    fail(Code::bad_argument, "cliffs is about NPUs; the target ", o.target, " has none");
  options.source = source_of(o.model);
  set_calibration(options, o.calibrate, o.image, 0);
  const std::vector<Study> all = studies(o, std::move(options));
  if (!o.json) {
    show(o, all);
    return exit_code::yes;
  }
  Json list = Json::array();
  for (const Study& s : all) {
    Json times = Json::array(), cliffs = Json::array();
    for (const SizeTime& t : s.times) times.push_back({{"size", t.size}, {"us", t.us}});
    for (const Cliff& c : s.cliffs)
      cliffs.push_back(
          {{"from", c.low.size}, {"to", c.high.size}, {"jump", c.jump()}, {"better", c.better()}});
    list.push_back({{"layer", s.what},
                    {"varied", s.varied},
                    {"size", s.size},
                    {"times", times},
                    {"cliffs", cliffs}});
  }
  print_json(
      {{"target", o.target}, {"factor", o.factor}, {"studies", list}, {"warnings", warnings()}});
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("--target", o->target, "Name of a target or a target file, with an NPU")
      .required();
  add_set_option(app, o->set);
  app.add_option("--layers", o->layers,
                 "How many layers are varied, each alone: the dearest of those that multiply by "
                 "constant weights")
      .range(1, 10000)
      .show_default();
  app.add_option("--vary", o->vary,
                 "NAME of a dim that --dim gives a size: varies that of the whole model, one build "
                 "for each size, instead of layers");
  app.add_option("--reach", o->reach, "How far sizes are varied, up and down")
      .range(1, 1024)
      .show_default();
  app.add_option("--factor", o->factor,
                 "A jump of the time between neighbours above this is a cliff")
      .range(1.01, 100.0)
      .show_default();
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  app.add_flag("--json", o->json, "One JSON object on one line, with the time of every size");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_cliffs = {
    .name = "cliffs",
    .doc = "Sizes of layers, or of the model, where one more or less makes the NPU much slower",
    .setup = setup,
};

}  // namespace longshore::commands
