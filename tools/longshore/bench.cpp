#include <algorithm>
#include <chrono>
#include <iostream>
#include <numeric>

#include "base/error.hpp"
#include "command.hpp"
#include "cpu/bind.hpp"
#include "engine.hpp"
#include "json.hpp"

namespace longshore::commands {
namespace {

struct Options {
  EngineOptions engine;
  double seconds = 3;
  bool json = false;
};

int run(const Options& o) {
  using Clock = std::chrono::steady_clock;
  const auto ms_since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  const Clock::time_point loading = Clock::now();
  ModelEngine engine(o.engine);
  const double load_ms = ms_since(loading);
  engine.run();  // warm: pages, caches, buffers that grow
  std::vector<double> ms;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point one = Clock::now();
    engine.run();
    ms.push_back(ms_since(one));
  } while (ms_since(start) < o.seconds * 1000 || ms.size() < 3);
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double part) {
    return ms[static_cast<std::size_t>(part * static_cast<double>(ms.size() - 1))];
  };
  const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  const Program* program = engine.program();
  const std::optional<double> predicted = engine.predicted_ms();
  const bool fast = engine.where() != "reference";
  if (o.json) {
    const Json j = {{"model", o.engine.model.path},
                    {"precision", engine.precision()},
                    {"on", engine.where()},
                    {"clock", engine.clock()},
                    {"isa", fast ? Json(cpu::name(cpu::best_isa())) : Json()},
                    {"threads", engine.threads()},
                    {"runs", ms.size()},
                    {"min_ms", ms.front()},
                    {"median_ms", at(0.5)},
                    {"mean_ms", mean},
                    {"p90_ms", at(0.9)},
                    {"target", engine.target().empty() ? Json() : Json(engine.target())},
                    {"predicted_ms", predicted},
                    {"load_ms", load_ms},
                    {"arena_bytes", program ? program->arena_bytes : 0},
                    {"arena_lower_bound", program ? program->arena_lower_bound : 0},
                    {"context_bytes", engine.memory_bytes()},
                    {"warnings", warnings()}};
    print_json(j);
    return exit_code::yes;
  }
  std::cout << o.engine.model.path << ", " << engine.precision() << "\n";
  if (predicted)
    std::cout << "  target " << engine.target() << ": " << shown_ms(*predicted) << " predicted\n";
  std::cout << "  " << engine.clock() << " (" << engine.threads() << " thread"
            << (engine.threads() == 1 ? "" : "s");
  if (engine.where() == "cpu") std::cout << ", " << cpu::name(cpu::best_isa());
  std::cout << "): min " << shown_ms(ms.front()) << ", median " << shown_ms(at(0.5)) << ",\n"
            << "    mean " << shown_ms(mean) << ", 90 % within " << shown_ms(at(0.9)) << " ("
            << ms.size() << " runs)\n";
  if (program)
    std::cout << "  arena " << shown_bytes(program->arena_bytes) << " (no plan needs less than "
              << shown_bytes(program->arena_lower_bound) << "), loaded in " << shown_ms(load_ms)
              << "\n";
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_engine_options(app, o->engine);
  add_input_options(app, o->engine.inputs);
  app.add_option("--seconds", o->seconds, "How long to measure; 3").range(0.01, 86400.0);
  app.add_flag("--json", o->json, "One JSON object on one line, the last of stdout");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_bench = {
    .name = "bench",
    .doc = "Measures how long one inference takes here; for bundles, says what the target takes",
    .setup = setup,
};

}  // namespace longshore::commands
