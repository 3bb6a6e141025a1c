#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "ir/op.hpp"
#include "json.hpp"
#include "model_options.hpp"
#include "quantize/output_noise.hpp"
#include "say.hpp"
#include "target/target.hpp"
#include "write/onnx.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  CalibrateOptions calibrate;
  PictureOptions image;
  std::string target, out;
  int threads = 0;
  bool unsigned_bytes = false, json = false;
};

/// Nodes by what they make; conversions between floats and codes are none of them.
struct Counts {
  std::size_t bytes = 0, words = 0, floats = 0;
};

Counts count_nodes(const Graph& g) {
  Counts out;
  for (const Node& n : g.nodes) {
    if (n.op->quant == Quant::recode) continue;
    const auto made = std::ranges::find_if(
        n.outputs, [&](ValueId v) { return v != no_value && g[v].type.quantised(); });
    if (made == n.outputs.end())
      out.floats++;
    else
      (size_bytes(g[*made].type.dtype) == 1 ? out.bytes : out.words)++;
  }
  return out;
}

/// Of the samples that calibrated so many are compared.
constexpr std::size_t most_compared = 32;

Nearness near_float(const compile::Options& options, const compile::Compiled& c) {
  const compile::Samples samples =
      options.samples ? options.samples(c.optimised) : compile::random_samples(c.optimised);
  Calibration some = compile::calibration(c.optimised, samples, options.threads);
  some.count = std::min(some.count, most_compared);
  return nearness(c.optimised, observe_outputs(c.optimised, some), observe_outputs(c.graph, some));
}

int run(const Options& o) {
  compile::Options options;
  options.source = source_of(o.model);
  options.last = compile::Stage::quantise;
  options.quantise = compile::Quantise::always;
  if (!o.target.empty()) options.target = load_target(o.target);
  warn_of_small_means(o.image);
  set_calibration(options, o.calibrate, o.image, o.threads);
  const compile::Compiled c = compile_shown(options);
  warn_of_unused(o.calibrate, c);
  if (c.graph.numbers != Rounding::f32_even)
    warn(str("ONNX knows one rounding, f32_even; other tools do not round as ",
             name(c.graph.numbers), ", so that some outputs differ by a code"));
  OnnxFile file;
  with_file(o.model.path, [&] {
    file = onnx_file(c.graph, {c.model.opset, o.unsigned_bytes, c.model.metadata});
  });
  require(write_file(o.out, file.bytes), o.out);

  const Counts nodes = count_nodes(c.graph);
  std::optional<Nearness> near;
  if (c.quantised_here) near = near_float(options, c);
  if (o.json) {
    print_json({{"model", o.model.path},
                {"output", o.out},
                {"bytes", file.bytes.size()},
                {"opset", file.opset},
                {"quantised_here", c.quantised_here},
                {"samples", c.quantisation.samples},
                {"nodes", {{"int8", nodes.bytes}, {"int16", nodes.words}, {"float", nodes.floats}}},
                {"output_sqnr_db", near && near->noise > 0 ? Json(near->db()) : Json()},
                {"warnings", warnings()}});
    return exit_code::yes;
  }
  std::cout << fmt::format("{}: {} node{} in int8, {} in int16, {} in float\n", o.model.path,
                           nodes.bytes, nodes.bytes == 1 ? "" : "s", nodes.words, nodes.floats);
  if (near)
    std::cout << fmt::format(
        "  outputs on {} of {} samples: {}\n", std::min(c.quantisation.samples, most_compared),
        c.quantisation.samples,
        near->noise > 0 ? fmt::format("SQNR {:.1f} dB", near->db()) : "equal to float's");
  if (c.quantisation.mixed)
    std::cout << "  " << wrapped(print(*c.quantisation.mixed), 2, 2) << "\n";
  std::cout << fmt::format("wrote {}: {}, opset {}\n", o.out, shown_bytes(file.bytes.size()),
                           file.opset);
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("-o,--output", o->out, "The ONNX model to write, FILE.onnx")
      .required()
      .not_empty();
  app.add_option("--target", o->target,
                 "Rounds as this target does (see `longshore targets`); f32_even, as ONNX does")
      .not_empty();
  app.add_choice<bool>("--activations", o->unsigned_bytes, {{"i8", false}, {"u8", true}},
                       "i8, or u8: the type of 8-bit activations in the file, the same numbers; "
                       "ONNX Runtime on x86 computes more nodes in integers with u8");
  app.add_option("--threads", o->threads, "As many as there are cores").positive();
  app.add_flag("--json", o->json, "One JSON object on one line");
  add_precision_option(app, o->calibrate);
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_quantise = {
    .name = "quantise",
    .doc = "Quantises a model and writes it as ONNX (QDQ), which other tools run",
    .setup = setup,
};

}  // namespace longshore::commands
