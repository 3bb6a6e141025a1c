#include "compile/compile.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "compile/best_plan.hpp"
#include "compile/near_names.hpp"
#include "compile/width_costs.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "optimize/optimize.hpp"
#include "program/print.hpp"
#include "quantize/import.hpp"
#include "quantize/prepare.hpp"
#include "quantize/select.hpp"
#include "sim/simulate.hpp"
#include "sim/verify.hpp"

namespace longshore::compile {

Options::Options() = default;
Options::Options(const Options&) = default;
Options::Options(Options&&) noexcept = default;
Options& Options::operator=(const Options&) = default;
Options& Options::operator=(Options&&) noexcept = default;
Options::~Options() = default;

Compiled::Compiled() = default;
Compiled::Compiled(const Compiled&) = default;
Compiled::Compiled(Compiled&&) noexcept = default;
Compiled& Compiled::operator=(const Compiled&) = default;
Compiled& Compiled::operator=(Compiled&&) noexcept = default;
Compiled::~Compiled() = default;

namespace {

/// Of nodes, outputs and operators, that --keep-float and --force may name.
std::vector<std::string> names_in(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes) {
    out.push_back(n.origin.name);
    out.push_back(qualified_name(*n.op));
    for (ValueId v : n.outputs)
      if (v != no_value) out.push_back(g[v].name);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool names_a_node(const Graph& g, const std::string& name) {
  return std::ranges::any_of(g.nodes,
                             [&](const Node& n) { return excluded(g, n, std::span(&name, 1)); });
}

class Compiler {
 public:
  explicit Compiler(const Options& options) : o_(options) {}

  Compiled run() {
    read();
    if (o_.first == Stage::place) {
      c_.imported = c_.optimised = c_.graph = c_.model.graph;
    } else {
      if (o_.last >= Stage::import) import();
      if (o_.last >= Stage::optimise) optimise();
      if (o_.last >= Stage::quantise) quantise();
    }
    if (o_.last >= Stage::place && o_.target) place();
    if (o_.last >= Stage::plan && npu()) plan();
    if (o_.last >= Stage::lower) lower();
    return std::move(c_);
  }

 private:
  bool npu() const { return o_.target && o_.target->machine.present; }

  void tell(Stage stage, std::size_t done, std::size_t of = 1, std::string_view part = {}) const {
    if (o_.progress && !o_.progress({stage, part, done, of})) throw Cancelled();
  }

  template <class Text>
  void show(std::string_view stage, Text&& text) const {
    if (o_.snapshot) o_.snapshot(stage, text());
  }

  void read() {
    tell(Stage::read, 0);
    c_.model = o_.model ? *o_.model : compile::read(o_.source);
    if (c_.model.pictures) c_.pictures = print(*c_.model.pictures);
    show("read", [&] { return summary(c_.model.graph); });
    // What is planned and priced ahead must have sizes.
    if (o_.target && o_.last >= Stage::place && o_.first != Stage::place)
      c_.model.graph = with_closed_dims(c_.model.graph, file(), c_.warnings);
    tell(Stage::read, 1);
  }

  std::string file() const { return o_.source.path.empty() ? "the graph" : o_.source.path; }

  void import() {
    tell(Stage::import, 0);
    c_.imported = c_.graph = import_quantised(c_.model.graph);
    c_.was_quantised = quantised(c_.imported);
    tell(Stage::import, 1);
  }

  void optimise() {
    tell(Stage::optimise, 0);
    OptimizeOptions options;
    std::size_t passes = 0;
    options.observe = [&](std::string_view pass, const Graph&) {
      passes++;
      tell(Stage::optimise, passes, 0, pass);
    };
    c_.optimised = c_.graph = optimize(c_.imported, options);
    show("optimised", [&] { return summary(c_.graph); });
    tell(Stage::optimise, 1);
  }

  void quantise() {
    const bool wanted = o_.quantise == Quantise::always ||
                        (o_.quantise == Quantise::automatic && (npu() || o_.samples));
    if (wanted && !quantised(c_.graph)) quantise_here();
    // Passes again, for a model whose own Transpose undoes the new one.
    if (o_.input_format.changes())
      c_.graph = optimize(with_input_format(c_.graph, o_.input_format, o_.pictures), {});
    c_.pictures = print(remaining_pictures());
    show("quantised", [&] { return summary(c_.graph); });
  }

  /// What is left to do with a picture before the program gets it.
  ImageOptions remaining_pictures() const {
    if (c_.model.pictures) return *c_.model.pictures;  // of a bundle: as it was built for
    ImageOptions out = o_.pictures;
    if (o_.input_format.changes()) out.layout = ImageOptions::Layout::automatic;
    if (o_.input_format.bytes) {  // mean, std and the order of channels are in the program
      const ImageOptions usual;
      out.mean = usual.mean, out.std = usual.std, out.bgr = usual.bgr;
    }
    return out;
  }

  void check_exclude() {
    if (o_.numbers.exclude.empty() && o_.numbers.precisions.empty()) return;
    const Graph prepared = prepare_for_quantisation(c_.optimised, [](const Node&) { return true; });
    for (const std::string& name : o_.numbers.exclude)
      if (!names_a_node(c_.optimised, name) && !names_a_node(prepared, name))
        refuse_name(str("--keep-float ", name), name, c_.optimised);
    for (const NodePrecision& p : o_.numbers.precisions)
      if (!names_a_node(c_.optimised, p.node) && !names_a_node(prepared, p.node))
        refuse_name(str("--node-precision ", p.node), p.node, c_.optimised);
  }

  /// Names that match nothing would be ignored in silence.
  void refuse_name(const std::string& option, const std::string& name, const Graph& g) {
    if (names_a_node(c_.imported, name))
      fail(Code::bad_argument, option,
           ": the optimiser took that node into another one; `inspect --optimise --text` shows "
           "those that there are");
    const bool known = std::ranges::any_of(ops::all(), [&](const OpDef* op) {
      return name == op->name || name == qualified_name(*op);
    });
    if (!known)
      fail(Code::bad_argument, option, ": no node, value or operator of the model has that name",
           near_names(name, names_in(g)));
    c_.warnings.push_back(str(option, ": the model has no such operator"));
  }

  Rounding rounding() const {
    if (o_.rounding) return *o_.rounding;
    if (npu())
      for (const Rounding r :
           {Rounding::f32_even, Rounding::fixed31_single, Rounding::fixed31_double})
        if (o_.target->machine.rounds(static_cast<int>(r))) return r;
    return Rounding::f32_even;
  }

  void quantise_here() {
    tell(Stage::quantise, 0);
    check_exclude();
    c_.random_calibration = !o_.samples;
    const Samples samples = o_.samples ? o_.samples(c_.graph) : random_samples(c_.graph);
    Calibration data = calibration(c_.graph, samples, o_.threads);
    data.progress = [this](std::string_view pass, std::size_t done, std::size_t all) {
      tell(Stage::quantise, done, all, pass);
    };
    QuantizeOptions options = o_.numbers;
    options.rounding = rounding();
    if (npu())
      options.width_costs = width_costs([this](const Graph& g) {
        const PlaceOptions how = place_options(g, false);
        return best_plan(longshore::place(g, *o_.target, how), how, o_.plan);
      });
    if (c_.random_calibration)
      c_.warnings.push_back(
          "no --calibrate: RANDOM data stands in for samples; the quantised model's accuracy is "
          "meaningless");
    try {
      if (o_.lint && !c_.random_calibration) lint(data);
      c_.graph = longshore::quantize(c_.optimised, data, options, &c_.quantisation);
    } catch (const UnusableSample& bad) {
      fail(Code::bad_argument, bad.text);
    }
    c_.quantised_here = true;
    const QuantizeReport& r = c_.quantisation;
    c_.warnings.insert(c_.warnings.end(), r.warnings.begin(), r.warnings.end());
    for (const Unreadable& u : r.unreadable)
      c_.warnings.push_back(u.why.find(u.name) == std::string::npos ? u.name + ": " + u.why
                                                                    : u.why);
    tell(Stage::quantise, 1);
  }

  void lint(const Calibration& data) {
    c_.findings = longshore::lint(c_.imported, c_.optimised, data);
    for (const Finding& f : c_.findings)
      if (f.error) fail(Code::bad_argument, text(f), "; --no-lint calibrates all the same");
  }

  /// A node that --force names and the graph lacks is an error, or passed over.
  PlaceOptions place_options(const Graph& g, bool must_be_there = true) {
    PlaceOptions options = o_.place;
    for (const auto& [name, npu] : o_.forced) {
      if (name == "*" && npu) {
        options.by_price = false;
        continue;
      }
      bool found = false;
      for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (name == "*" || excluded(g, g.nodes[i], std::span(&name, 1)))
          options.forced[i] = npu, found = true;
      if (!found && must_be_there)
        refuse_name(str("--force ", name, npu ? "=npu" : "=cpu"), name, g);
    }
    return options;
  }

  void place() {
    tell(Stage::place, 0);
    c_.plan.placement = longshore::place(c_.graph, *o_.target, place_options(c_.graph));
    std::size_t open = 0;
    std::string first;
    for (const Node& n : c_.graph.nodes)
      for (ValueId v : n.outputs)
        if (v != no_value && !c_.graph[v].type.shape() && open++ == 0) first = n.origin.name;
    if (open > 0)
      c_.warnings.push_back(str(open,
                                " values have dims that only a run shows, the first of node '",
                                first, "': the predicted time leaves their elements out"));
    tell(Stage::place, 1);
  }

  void plan() {
    tell(Stage::plan, 0);
    c_.plan = best_plan(std::move(c_.plan.placement), place_options(c_.graph), o_.plan);
    show("plan", [&] { return plan::print(c_.plan); });
    tell(Stage::plan, 1);
  }

  void lower() {
    tell(Stage::lower, 0);
    if (npu())
      lower_npu();
    else
      lower_cpu();
    show("program", [&] { return print(c_.program); });
    tell(Stage::lower, 1);
  }

  void lower_npu() {
    if (o_.taps) {
      c_.tapped = lower::lower_tapped(c_.plan);
      c_.program = lower::remove_taps(*c_.tapped);
    } else {
      c_.program = lower::lower(c_.plan);
    }
    c_.target_text = print(*o_.target);
    c_.choices = o_.choices;
    if (o_.verify) {
      prove(c_.program);
      if (c_.tapped) prove(c_.tapped->program, "the program with taps");
    }
    if (!o_.predict) return;
    Result<Timing> timing = longshore::predict(c_.program);
    if (!timing.ok())
      fail(Code::internal,
           "this is a bug: the simulator cannot time the program: ", timing.status().text());
    c_.timing = std::move(*timing);
  }

  void lower_cpu() {
    c_.program = lower::lower_cpu(c_.graph);
    const std::vector<NodePlacement>& nodes = c_.plan.placement.nodes;
    for (Step& step : c_.program.steps)
      if (step.layer < nodes.size()) step.cost_us = std::max(nodes[step.layer].cpu_us(), 0.0);
  }

  const Options& o_;
  Compiled c_;
};

}  // namespace

std::string_view name(Stage s) {
  static constexpr std::string_view names[] = {"read",  "import", "optimise", "quantise",
                                               "place", "plan",   "lower"};
  return names[static_cast<std::size_t>(s)];
}

bool quantised(const Graph& g) {
  return std::ranges::any_of(g.values, [](const Value& v) { return v.type.quantised(); });
}

std::string_view precision_name(const Graph& g) {
  if (!quantised(g)) return "float32";
  const bool wide = std::ranges::any_of(g.values, [](const Value& v) {
    return v.type.quantised() && !v.constant.present() && size_bytes(v.type.dtype) == 2;
  });
  const bool weights = std::ranges::any_of(g.nodes, [&](const Node& n) {
    const std::optional<std::size_t> at = n.op->schema.weights();
    const Tensor* w = at ? g.constant(n.input(*at)) : nullptr;
    return w && w->dtype == DType::i16;
  });
  return wide ? weights ? "int16x16" : "int16" : "int8";
}

void prove(const Program& p, std::string_view which) {
  for (const Refusal& r : verify(p, 1)) {
    if (r.kind == Refusal::Kind::semaphore && r.text.find("may count beyond") != std::string::npos)
      fail(Code::unsupported, p.machine.name, " has a semaphore_limit of ",
           p.machine.semaphore_limit, ", and the program needs more: ", r.text);
    fail(Code::internal, "this is a bug: the verifier refuses ", which, ": ", r.text);
  }
}

Compiled compile(const Options& options) {
  const std::string& file = options.source.path;
  try {
    return Compiler(options).run();
  } catch (const Error& e) {
    if (std::string_view(e.what()).find(file) != std::string_view::npos)
      throw;  // or it has no name
    fail(e.code(), file, ": ", e.what());
  }
}

Specialise specialise(const Compiled& c) {
  if (c.quantised_here) return specialiser(c.graph);
  // Optimised once for all dims: weights that it makes are the same for each.
  return specialiser(c.optimised, optimize_special);
}

}  // namespace longshore::compile
