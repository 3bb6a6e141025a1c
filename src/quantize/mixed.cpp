#include "quantize/mixed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.hpp"

namespace longshore {
namespace {

/// Of the samples that calibrate so many are compared.
constexpr std::size_t most_compared = 32;
/// Parts of the chosen nodes that are tried to be left at 8 bits after all.
constexpr std::size_t most_parts = 8;

class Search {
 public:
  Search(const Graph& g, const Calibration& calibration, const QuantizeOptions& options)
      : g_(g),
        calibration_(calibration),
        options_(options),
        wanted_(options.min_sqnr_db),
        whole_progress_(calibration.progress) {
    options_.min_sqnr_db = 0;
    calibration_.progress = {};  // of one quantisation: the search tells how far it is
    compared_ = calibration_;
    compared_.count = std::min(calibration_.count, most_compared);
    want_ = observe_outputs(g_, compared_);
  }

  /// Decibels of the outputs of a quantised graph, of the output that fares worst.
  double sqnr(const Graph& quantised) const {
    std::vector<double> signal(g_.outputs.size()), noise(g_.outputs.size());
    for (const auto& [sample, got] : observe_outputs(quantised, compared_))
      for (std::size_t o = 0; o < signal.size(); o++) {
        const std::vector<float>& want = want_.at(sample)[o];
        for (std::size_t i = 0; i < std::min(got[o].size(), want.size()); i++) {
          const double x = static_cast<double>(want[i]), y = static_cast<double>(got[o][i]);
          signal[o] += x * x;
          noise[o] += (x - y) * (x - y);
        }
      }
    double worst = most_db;
    for (std::size_t o = 0; o < signal.size(); o++)
      if (signal[o] > 0 && noise[o] > 0)
        worst = std::min(worst, 10 * std::log10(signal[o] / noise[o]));
    return worst;
  }

  std::vector<NodePrecision> run(Mixed& told) {
    rank();
    told.nodes = ranked_.size();
    std::vector<bool> wide(ranked_.size());
    told.before_db = told.after_db = sqnr(wide);
    if (told.before_db < wanted_) {
      wide.assign(ranked_.size(), true);
      told.all_db = told.after_db = sqnr(wide);
      if (told.all_db >= wanted_) told.after_db = least_prefix(wide, told.all_db);
      if (told.all_db >= wanted_) told.after_db = leave_out(wide, told.after_db);
    }
    std::vector<NodePrecision> out;
    for (std::size_t i = 0; i < wide.size(); i++)
      if (wide[i]) out.push_back({ranked_[i], Precision::w8a16});
    told.wide = out.size();
    return out;
  }

 private:
  /// Another quantisation: of none, of all, by bisection, and of parts that may go.
  void tell() {
    const std::size_t all =
        2 + static_cast<std::size_t>(std::bit_width(ranked_.size())) + most_parts;
    told_ = std::min(told_ + 1, all);
    if (whole_progress_) whole_progress_("16 bits where needed", told_, all);
  }

  /// All nodes, those first whose numbers 8 bits blur most.
  void rank() {
    QuantizeOptions options = options_;
    options.measure_noise = true;
    QuantizeReport report;
    quantize(g_, calibration_, options, &report);
    std::ranges::stable_sort(report.noise, std::greater{}, &NodeNoise::noise);
    for (NodeNoise& n : report.noise) ranked_.push_back(std::move(n.output));
  }

  double sqnr(const std::vector<bool>& wide) {
    tell();
    QuantizeOptions options = options_;
    options.precisions.clear();
    for (std::size_t i = 0; i < wide.size(); i++)
      if (wide[i]) options.precisions.push_back({ranked_[i], Precision::w8a16});
    options.precisions.insert(options.precisions.end(), options_.precisions.begin(),
                              options_.precisions.end());
    return sqnr(quantize(g_, calibration_, options));
  }

  /// The least number of nodes from the front that is enough, by bisection.
  double least_prefix(std::vector<bool>& wide, double reached) {
    const auto prefix = [&](std::size_t n) {
      std::vector<bool> out(ranked_.size());
      std::fill_n(out.begin(), n, true);
      return out;
    };
    std::size_t low = 0, high = ranked_.size();
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      const double db = sqnr(prefix(middle));
      (db >= wanted_ ? high : low) = middle;
      if (db >= wanted_) reached = db;
    }
    wide = prefix(high);
    return reached;
  }

  /// Parts of the chosen that are not needed, those that are harmed least first.
  double leave_out(std::vector<bool>& wide, double reached) {
    const auto count = static_cast<std::size_t>(std::ranges::count(wide, true));
    const std::size_t part = (count + most_parts - 1) / most_parts;
    for (std::size_t end = count; end > 0; end -= std::min(end, part)) {
      std::vector<bool> less = wide;
      for (std::size_t i = end - std::min(end, part); i < end; i++) less[i] = false;
      const double db = sqnr(less);
      if (db < wanted_) continue;
      wide = std::move(less);
      reached = db;
    }
    return reached;
  }

  static constexpr double most_db = 300;  // where there is no noise

  const Graph& g_;
  Calibration calibration_, compared_;
  QuantizeOptions options_;
  double wanted_;
  std::function<void(std::string_view, std::size_t, std::size_t)> whole_progress_;
  std::size_t told_ = 0;
  std::map<std::size_t, std::vector<std::vector<float>>> want_;  // by sample and output
  std::vector<std::string> ranked_;                              // outputs of nodes
};

}  // namespace

Graph quantize_mixed(const Graph& g, const Calibration& calibration, const QuantizeOptions& options,
                     QuantizeReport& report) {
  Mixed told{.wanted_db = options.min_sqnr_db};
  Search search(g, calibration, options);
  QuantizeOptions chosen = options;
  chosen.min_sqnr_db = 0;
  chosen.precisions = search.run(told);
  chosen.precisions.insert(chosen.precisions.end(), options.precisions.begin(),
                           options.precisions.end());
  Graph out = quantize(g, calibration, chosen, &report);
  if (told.after_db < told.wanted_db)
    report.warnings.push_back(str("outputs come within ", std::lround(told.after_db),
                                  " dB of float's with 16-bit activations in ", told.wide, " of ",
                                  told.nodes, " nodes, not ", told.wanted_db,
                                  "; --precision int16x16 gives weights 16 bits as well"));
  report.mixed = told;
  return out;
}

}  // namespace longshore
