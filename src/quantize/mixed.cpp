#include "quantize/mixed.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

constexpr std::size_t most_samples = 32;
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
    calibration_.count = std::min(calibration_.count, most_samples);
    options_.min_sqnr_db = 0;
    calibration_.progress = {};  // of one quantisation: the search tells how far it is
    for (std::size_t i = 0; i < calibration_.count; i++) {
      try {
        inputs_.push_back(calibration_.sample(i));
      } catch (const Error& e) {
        if (e.code() == Code::internal) throw;  // quantize tells of what cannot be read
      }
    }
    want_ = outputs(g_);
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
  using Outputs = std::vector<std::vector<float>>;
  /// By sample. Each thread has a runner of its own.
  std::vector<Outputs> outputs(const Graph& g) const {
    std::vector<Outputs> all(inputs_.size(), Outputs(g.outputs.size()));
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
      try {
        const SampleRunner run = calibration_.make_runner
                                     ? calibration_.make_runner(g, g.outputs)
                                     : [&g](std::span<const Tensor> in, const Observer& see) {
                                         evaluate(g, in, {.observe = see});
                                       };
        for (std::size_t s = next++; s < inputs_.size(); s = next++)
          run(inputs_[s], [&](ValueId v, const TensorView& t) {
            for (std::size_t i = 0; i < g.outputs.size(); i++)
              if (g.outputs[i] == v && t.dtype == DType::f32)
                all[s][i].assign(t.as<float>(), t.as<float>() + t.elements());
          });
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = inputs_.size();
      }
    };
    {
      std::vector<std::jthread> others;
      for (int t = 1; t < calibration_.threads; t++) others.emplace_back(work);
      work();
    }
    if (failure) std::rethrow_exception(failure);
    return all;
  }

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

  /// Decibels of the outputs, of the output that fares worst.
  double sqnr(const std::vector<bool>& wide) {
    tell();
    QuantizeOptions options = options_;
    options.precisions.clear();
    for (std::size_t i = 0; i < wide.size(); i++)
      if (wide[i]) options.precisions.push_back({ranked_[i], Precision::w8a16});
    options.precisions.insert(options.precisions.end(), options_.precisions.begin(),
                              options_.precisions.end());
    const Graph q = quantize(g_, calibration_, options);
    std::vector<double> signal(g_.outputs.size()), noise(g_.outputs.size());
    const std::vector<Outputs> got = outputs(q);
    for (std::size_t s = 0; s < inputs_.size(); s++)
      for (std::size_t o = 0; o < signal.size(); o++)
        for (std::size_t i = 0; i < std::min(got[s][o].size(), want_[s][o].size()); i++) {
          const double x = static_cast<double>(want_[s][o][i]),
                       y = static_cast<double>(got[s][o][i]);
          signal[o] += x * x;
          noise[o] += (x - y) * (x - y);
        }
    double worst = most_db;
    for (std::size_t o = 0; o < signal.size(); o++)
      if (signal[o] > 0 && noise[o] > 0)
        worst = std::min(worst, 10 * std::log10(signal[o] / noise[o]));
    return worst;
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
    const std::size_t part = (count + most_parts - 1) / std::max<std::size_t>(1, most_parts);
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
  Calibration calibration_;
  QuantizeOptions options_;
  double wanted_;
  std::function<void(std::string_view, std::size_t, std::size_t)> whole_progress_;
  std::size_t told_ = 0;
  std::vector<std::vector<Tensor>> inputs_;
  std::vector<Outputs> want_;
  std::vector<std::string> ranked_;  // outputs of nodes
};

}  // namespace

std::vector<NodePrecision> choose_wide(const Graph& g, const Calibration& calibration,
                                       const QuantizeOptions& options, Mixed& told) {
  told.wanted_db = options.min_sqnr_db;
  return Search(g, calibration, options).run(told);
}

}  // namespace longshore
