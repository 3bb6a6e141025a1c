#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "build_report.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "command_line.hpp"
#include "compile/fallbacks.hpp"
#include "json.hpp"
#include "model_options.hpp"
#include "say.hpp"
#include "target_options.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  PictureOptions image;
  CalibrateOptions calibrate;
  std::vector<std::string> targets, set;
  bool json = false;
};

/// What came of one target: a program, or why there is none.
struct Row {
  std::string target, refused;
  std::optional<PredictionError> error = {};
  double ms = 0, host_ms = 0, npu_share = 0;
  double energy_uj = 0;          // 0: the target file has no numbers
  std::uint64_t dram_bytes = 0;  // read and written
  std::size_t fallbacks = 0;     // nodes on the CPU that are no border between codes and floats
};

/// The mode of rounding that `build` takes for the target.
Rounding rounding_of(const Options& o, const Target& t) {
  if (o.calibrate.rounding) return *o.calibrate.rounding;
  for (int i = 0; i < 3; i++)
    if (t.machine.rounds(i)) return Rounding(i);
  return Rounding::f32_even;
}

/// Builds for every target; the model is read, and quantised once for each mode of rounding.
std::vector<Row> built(const Options& o, const std::vector<Target>& targets) {
  std::map<Rounding, ReadResult> quantised;
  std::vector<Row> rows;
  for (const Target& target : targets) {
    compile::Options options;
    options.target = target;
    set_calibration(options, o.calibrate, o.image, 0);
    auto ready = quantised.find(rounding_of(o, target));
    if (ready == quantised.end()) {
      options.source = source_of(o.model);
      options.last = compile::Stage::quantise;
      options.lint = o.calibrate.lint && quantised.empty();  // once: the samples are the same
      compile::Compiled c = compile_shown(options);
      if (quantised.empty()) warn_of_unused(o.calibrate, c);
      ReadResult model = std::move(c.model);
      model.graph = std::move(c.graph);
      ready = quantised.emplace(rounding_of(o, target), std::move(model)).first;
    }
    options.source = {};
    options.model = ready->second;
    options.first = compile::Stage::place;
    options.last = compile::Stage::lower;
    Row row{.target = target.name, .error = target.error};
    try {
      const compile::Compiled c = compile_shown(options);
      row.ms = latency_ms(c);
      row.host_ms = c.timing.time.of(Activity::host) * 1e-6;
      row.npu_share = c.plan.placement.npu_mac_share();
      row.energy_uj = c.timing.energy_uj;
      row.dram_bytes = c.timing.dram_read_bytes + c.timing.dram_write_bytes;
      for (const compile::Fallback& f : compile::fallbacks(c))
        row.fallbacks += f.kind != compile::Fallback::Kind::border;
    } catch (const Error& e) {
      if (e.code() == Code::internal) throw;
      row.refused = e.what();
    }
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    return std::pair(!a.refused.empty(), a.ms) < std::pair(!b.refused.empty(), b.ms);
  });
  return rows;
}

void show(const std::vector<Row>& rows) {
  std::cout << fmt::format("{:<20}{:>10} {:>7} {:>9} {:>9} {:>10} {:>10}\n", "target", "ms",
                           "% NPU", "host ms", "CPU nodes", "moved", "energy uJ");
  for (const Row& r : rows) {
    if (!r.refused.empty()) {
      std::cout << fmt::format("{:<20}{}\n", r.target, wrapped(r.refused, 20, 20));
      continue;
    }
    std::cout << fmt::format("{:<20}{:>10.3f} {:>7.1f} {:>9.3f} {:>9} {:>10} {:>10}\n", r.target,
                             r.ms, 100 * r.npu_share, r.host_ms, r.fallbacks,
                             shown_bytes(r.dram_bytes),
                             r.energy_uj > 0 ? fmt::format("{:.1f}", r.energy_uj) : "-");
  }
  std::cout << "\n";
  for (const Row& r : rows)
    if (r.error && r.refused.empty())
      std::cout << wrapped(r.target + ": " + text_of(*r.error), 0, 2) << "\n";
  std::cout << "Predicted; `longshore build MODEL --target NAME` says more of each, and "
               "--suggest\nwhat would bring the nodes on the CPU to the NPU.\n";
}

int run(const Options& o) {
  std::vector<Target> targets;
  for (const std::string& name : o.targets) {
    targets.push_back(load_target(name, o.set));
    if (!targets.back().machine.present)
      fail(Code::bad_argument, "survey is about NPUs; the target ", name, " has none");
  }
  if (targets.empty())
    for (const TargetName& n : target_names()) {
      Target t = load_target(n.name, o.set);
      if (t.machine.present) targets.push_back(std::move(t));
    }
  const std::vector<Row> rows = built(o, targets);
  if (!o.json) {
    show(rows);
  } else {
    Json list = Json::array();
    for (const Row& r : rows) {
      Json entry = {{"target", r.target}};
      if (r.refused.empty()) {
        entry["latency_ms"] = r.ms;
        entry["error"] = error_json(r.error);
        entry["host_ms"] = r.host_ms;
        entry["npu_mac_share"] = r.npu_share;
        entry["cpu_nodes"] = r.fallbacks;
        entry["dram_bytes"] = r.dram_bytes;
        entry["energy_uj"] = r.energy_uj > 0 ? Json(r.energy_uj) : Json();
      } else {
        entry["refused"] = r.refused;
      }
      list.push_back(std::move(entry));
    }
    print_json({{"targets", list}, {"warnings", warnings()}});
  }
  const bool any = std::ranges::any_of(rows, [](const Row& r) { return r.refused.empty(); });
  return any ? exit_code::yes : exit_code::no;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("--target", o->targets,
                 "Name of a target or a target file; several may be given; all that have an NPU")
      .one_at_a_time();
  add_set_option(app, o->set);
  add_precision_option(app, o->calibrate);
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  app.add_flag("--json", o->json, "One JSON object on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_survey = {
    .name = "survey",
    .doc = "One model on several targets: predicted time, share on the NPU, traffic, energy",
    .setup = setup,
};

}  // namespace longshore::commands
