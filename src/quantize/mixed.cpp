#include "quantize/mixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

/// Of the samples that calibrate so many are compared.
constexpr std::size_t most_compared = 32;
/// Choices that are made and compared, beside all narrow and all wide.
constexpr int most_tries = 5;

bool coded(const Graph& g, ValueId v) { return v != no_value && g[v].type.quantised(); }

/// What computes in codes; borders, conversions and moves have no width of their own.
bool has_width(const Graph& g, const Node& n) {
  return n.op->quant != Quant::same && n.op->quant != Quant::recode && coded(g, n.outputs[0]);
}

/// A quantised value's name in the float graph: where that has one too, codes are NAME_q.
std::string plain_name(const std::string& name) {
  return name.ends_with("_q") ? name.substr(0, name.size() - 2) : name;
}

/// The layers of a narrow graph, what lies between them, and what it takes to widen them.
class Layers {
 public:
  Layers(const Graph& narrow, const QuantizeReport& report, const WidthPrices& prices)
      : g_(narrow) {
    std::map<std::string, std::vector<std::string>> clamps;  // by what they were given
    for (const auto& [made, given] : report.absorbed) clamps[given].push_back(made);
    std::map<std::string, std::size_t> layer_of;
    for (const LayerWidths& l : prices.layers) {
      const std::size_t i = problem.add_layer(l.narrow_us, l.wide_us);
      for (const std::string& name : l.outputs) layer_of[name] = i;
    }
    layer_of_node_.assign(g_.nodes.size(), WidthProblem::nobody);
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const Node& n = g_.nodes[i];
      if (!has_width(g_, n)) continue;
      const std::string& made = g_[n.outputs[0]].name;
      const auto at = layer_of.find(made);
      layer_of_node_[i] = at == layer_of.end() ? problem.add_layer(0, 1) : at->second;
      names.resize(problem.layers());
      std::vector<std::string>& to = names[layer_of_node_[i]];
      to.push_back(plain_name(made));
      for (const std::string& clamp : clamps[plain_name(made)]) to.push_back(clamp);
    }
    names.resize(problem.layers());
    add_values(report, prices.convert_us);
  }

  WidthProblem problem;
  std::vector<std::vector<std::string>> names;  // of outputs, by layer

 private:
  /// The value whose codes a move shows, through all moves.
  ValueId origin(ValueId v) const {
    for (const Node* n = g_.def(v); n && n->op->quant == Quant::same; n = g_.def(v))
      v = *std::ranges::find_if(n->inputs, [&](ValueId in) { return coded(g_, in); });
    return v;
  }

  void add_values(const QuantizeReport& report, const std::map<std::string, double>& convert_us) {
    std::map<std::string, double> noise;
    for (const ValueNoise& n : report.noise) noise[n.value] = n.noise;
    std::map<ValueId, std::set<std::size_t>> readers;
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      for (ValueId v : g_.nodes[i].inputs)
        if (layer_of_node_[i] != WidthProblem::nobody && coded(g_, v) && !g_.constant(v))
          readers[origin(v)].insert(layer_of_node_[i]);
    // What only floats read has noise as well.
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (layer_of_node_[i] != WidthProblem::nobody) readers[g_.nodes[i].outputs[0]];
    for (auto& [v, list] : readers) {
      const int def = g_[v].def;
      const std::size_t maker =
          def < 0 ? WidthProblem::nobody : layer_of_node_[static_cast<std::size_t>(def)];
      list.erase(maker);
      const auto n = noise.find(plain_name(g_[v].name));
      const auto price = convert_us.find(g_[v].name);
      problem.add_value(maker, {list.begin(), list.end()}, n == noise.end() ? 0 : n->second,
                        price == convert_us.end() ? 0 : price->second);
    }
  }

  const Graph& g_;
  std::vector<std::size_t> layer_of_node_;
};

class Search {
 public:
  Search(const Graph& g, const Calibration& calibration, const QuantizeOptions& options)
      : g_(g),
        calibration_(calibration),
        options_(options),
        wanted_db_(options.min_sqnr_db),
        max_drop_(options.max_drop),
        whole_progress_(calibration.progress) {
    options_.min_sqnr_db = options_.max_drop = 0;
    calibration_.progress = {};  // of one quantisation: the search tells how far it is
    compared_ = calibration_;
    compared_.count = std::min(calibration_.count, most_compared);
    want_ = observe_outputs(g_, compared_);
  }

  Graph run(QuantizeReport& report) {
    Mixed told{.wanted_db = wanted_db_, .max_drop = max_drop_};
    Choice best = made({});
    options_.equalise = !best.report.equalised.empty();  // or it was found to be no gain
    told.before = best.near;
    told.before_us = best.us;
    told.nodes = all_names(best).size();
    if (!enough(best.near)) best = widened(best, told);
    told.after = best.near;
    told.after_us = best.us;
    told.wide = std::move(best.wide);
    report = std::move(best.report);
    if (!enough(told.after)) report.warnings.push_back(not_enough(told));
    report.mixed = std::move(told);
    return std::move(best.graph);
  }

 private:
  struct Choice {
    std::vector<std::string> wide;
    Graph graph;
    QuantizeReport report;
    Nearness near;
    double us = 0;
  };

  bool enough(const Nearness& n) const {
    return (wanted_db_ <= 0 || n.db() >= wanted_db_) &&
           (max_drop_ <= 0 || n.drop_percent() <= max_drop_);
  }

  double most_noise() const {
    double most = std::numeric_limits<double>::infinity();
    if (wanted_db_ > 0) most = std::pow(10, -wanted_db_ / 10);
    if (max_drop_ > 0) most = std::min(most, max_drop_ / 100);
    return most;
  }

  void tell() {
    if (whole_progress_) whole_progress_("16 bits where needed", ++told_, most_tries + 2);
  }

  static std::vector<std::string> all_names(const Choice& narrow) {
    std::vector<std::string> out;
    for (const Node& n : narrow.graph.nodes)
      if (has_width(narrow.graph, n)) out.push_back(plain_name(narrow.graph[n.outputs[0]].name));
    for (const auto& [made, given] : narrow.report.absorbed) out.push_back(made);
    return out;
  }

  Graph quantised(const std::vector<std::string>& wide, QuantizeReport& report,
                  bool measure_noise = false) {
    QuantizeOptions options = options_;
    options.measure_noise = measure_noise;
    options.precisions.clear();
    for (const std::string& name : wide) options.precisions.push_back({name, Precision::w8a16});
    options.precisions.insert(options.precisions.end(), options_.precisions.begin(),
                              options_.precisions.end());
    Calibration calibration = calibration_;
    if (measure_noise && whole_progress_)
      calibration.progress = [this](std::string_view pass, std::size_t done, std::size_t all) {
        if (pass == "sensitivity") whole_progress_(pass, done, all);
      };
    return quantize(g_, calibration, options, &report);
  }

  Choice made(std::vector<std::string> wide) {
    Choice out;
    out.graph = quantised(wide, out.report);
    out.wide = std::move(wide);
    out.near = nearness(g_, want_, observe_outputs(out.graph, compared_));
    if (options_.width_costs.us) out.us = options_.width_costs.us(out.graph);
    tell();
    return out;
  }

  /// Better where it is near enough and takes less time, or else less 16 bits.
  bool better(const Choice& a, const Choice& b) const {
    if (a.us != b.us) return a.us < b.us;
    return a.wide.size() < b.wide.size();
  }

  Choice widened(const Choice& narrow, Mixed& told) {
    Choice best = made(all_names(narrow));
    told.all = best.near;
    told.all_us = best.us;
    if (!enough(best.near)) return best;

    QuantizeReport with_noise;
    quantised({}, with_noise, true);
    const Layers layers(narrow.graph, with_noise,
                        options_.width_costs.prices
                            ? options_.width_costs.prices(narrow.graph, best.graph)
                            : WidthPrices{});
    const double floor = best.near.noise, wanted = most_noise() - floor;
    double budget = wanted, too_much = std::numeric_limits<double>::infinity();
    std::set<std::vector<bool>> tried;
    for (int i = 0; i < most_tries; i++) {
      const std::vector<bool> wide = layers.problem.within(budget);
      if (!tried.insert(wide).second) break;
      std::vector<std::string> names;
      for (std::size_t k = 0; k < wide.size(); k++)
        if (wide[k]) names.insert(names.end(), layers.names[k].begin(), layers.names[k].end());
      Choice choice = made(std::move(names));
      const double found = choice.near.noise - floor;
      // So far off were the single effects together; a little is left for the next one.
      double next = found > 0 ? 0.97 * budget * wanted / found : 2 * budget;
      if (enough(choice.near)) {
        if (better(choice, best)) best = std::move(choice);
        if (next < 1.1 * budget) break;
        next = std::min({next, 4 * budget, 0.9 * too_much});
      } else {
        too_much = std::min(too_much, budget);
        next = std::min(next, 0.7 * budget);
      }
      budget = next;
    }
    return best;
  }

  static std::string not_enough(const Mixed& m) {
    const std::string wanted =
        m.max_drop > 0 ? str("not ", m.max_drop, " %") : str("not ", m.wanted_db, " dB");
    const std::string reached =
        m.max_drop > 0 ? fmt::format("{:.2f} % of the outputs is lost", m.after.drop_percent())
                       : fmt::format("{:.1f} dB of float are reached", m.after.db());
    return str(reached, " with 16-bit activations in all of ", m.nodes, " nodes, ", wanted,
               "; --precision int16x16 gives weights 16 bits as well");
  }

  const Graph& g_;
  Calibration calibration_, compared_;
  QuantizeOptions options_;
  double wanted_db_, max_drop_;
  std::function<void(std::string_view, std::size_t, std::size_t)> whole_progress_;
  std::size_t told_ = 0;
  Outputs want_;
};

}  // namespace

Graph quantize_mixed(const Graph& g, const Calibration& calibration, const QuantizeOptions& options,
                     QuantizeReport& report) {
  return Search(g, calibration, options).run(report);
}

}  // namespace longshore
