#include "quantize/evidence.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "ir/op.hpp"

namespace longshore {
namespace {

/// All hypotheses are tried on so many samples, and those that do better than the samples as they
/// are on more: a wrong one seldom does, so that most of the runs are saved.
constexpr std::size_t least_first_samples = 8, first_samples = 16, all_samples = 192;
/// Where none is left the answers only show what classes there are.
constexpr std::size_t variety_samples = 64;
constexpr std::size_t norm_samples = 32;
/// Ten times what right samples of the zoo's nets differ by. Below that nothing is wrong with
/// range, mean and deviation, and nothing is tried.
constexpr double worth_a_try = 0.1;
/// Layers behind the first see what those made of the samples, and what those are of: the first
/// six, where they stand in the first third of the nodes.
constexpr std::size_t norm_layers = 6, norm_part = 3;

double sum_of(const std::vector<float>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0,
                         [](double a, float b) { return a + static_cast<double>(b); });
}

/// Scores as probabilities: as they are where they are some, else by a softmax.
std::vector<float> probabilities(const TensorView& t) {
  std::vector<float> out(t.as<float>(), t.as<float>() + t.elements());
  const bool ready =
      std::ranges::all_of(out, [](float x) { return x >= 0; }) && std::abs(sum_of(out) - 1) < 1e-3;
  if (ready) return out;
  const float most = *std::ranges::max_element(out);
  for (float& x : out) x = std::exp(x - most);
  const auto sum = static_cast<float>(sum_of(out));
  for (float& x : out) x /= sum;
  return out;
}

/// A layer that says which mean and variance its data had in training.
struct Norm {
  std::string node;
  std::vector<double> mean, variance;
};

std::vector<double> reals(const Tensor& t) {
  std::vector<double> out;
  for (const float x : t.values<float>()) out.push_back(static_cast<double>(x));
  return out;
}

/// The beginning of the graph, whose outputs are what such layers read.
std::pair<Graph, std::vector<Norm>> beginning(const Graph& g) {
  std::vector<Norm> norms;
  std::vector<ValueId> read;
  for (std::size_t i = 0; i < g.nodes.size() / norm_part; i++) {
    const Node& n = g.nodes[i];
    const auto& inputs = n.op->schema.inputs;
    const Tensor *mean = nullptr, *variance = nullptr;
    for (std::size_t k = 0; k < inputs.size(); k++) {
      if (inputs[k].name == "input_mean") mean = g.constant(n.input(k));
      if (inputs[k].name == "input_var") variance = g.constant(n.input(k));
    }
    if (!mean || !variance || mean->dtype != DType::f32 || variance->dtype != DType::f32 ||
        mean->elements() != variance->elements() || n.attributes.integer("training_mode") != 0 ||
        std::ranges::find(read, n.input(0)) != read.end())
      continue;
    norms.push_back({describe(n), reals(*mean), reals(*variance)});
    read.push_back(n.input(0));
    if (norms.size() == norm_layers) break;
  }
  if (norms.empty()) return {};
  Graph out = g;
  out.outputs = read;
  out.states.clear();
  return {tidy(out), std::move(norms)};
}

/// Sums over samples of what one layer reads, by channel.
struct NormSums {
  std::vector<double> sum, squares;
  double count = 0;

  void add(const TensorView& x, std::size_t channels) {
    if (x.dtype != DType::f32 || x.shape.rank < 2 ||
        x.shape[1] != static_cast<std::int64_t>(channels))
      return;
    sum.resize(channels), squares.resize(channels);
    const std::int64_t inner = x.shape.product(2, x.shape.rank);
    const float* at = x.as<float>();
    for (std::int64_t n = 0; n < x.shape[0]; n++)
      for (std::size_t c = 0; c < channels; c++)
        for (std::int64_t i = 0; i < inner; i++, at++) {
          const auto v = static_cast<double>(*at);
          sum[c] += v, squares[c] += v * v;
        }
    count += static_cast<double>(x.shape[0] * inner);
  }
  void add(const NormSums& other) {
    sum.resize(other.sum.size()), squares.resize(other.sum.size());
    for (std::size_t c = 0; c < sum.size(); c++)
      sum[c] += other.sum[c], squares[c] += other.squares[c];
    count += other.count;
  }
};

double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::ranges::nth_element(v, middle);
  return *middle;
}

/// KL(N(m1, v1) || N(m2, v2)) = (v1 / v2 + (m1 - m2)^2 / v2 - 1 - ln(v1 / v2)) / 2
std::optional<NormDistance> distance(const Norm& norm, const NormSums& sums) {
  if (sums.sum.size() != norm.mean.size() || !(sums.count > 0)) return {};
  const double most = *std::ranges::max_element(norm.variance);
  std::vector<double> divergence, shift, ratio;
  for (std::size_t c = 0; c < norm.mean.size(); c++) {
    if (!(norm.variance[c] > 1e-6 * most)) continue;  // a channel that never fires
    const double mean = sums.sum[c] / sums.count,
                 variance = std::max(sums.squares[c] / sums.count - mean * mean, 0.0),
                 moved = (mean - norm.mean[c]) * (mean - norm.mean[c]) / norm.variance[c];
    ratio.push_back(variance / norm.variance[c]);
    shift.push_back(std::sqrt(moved));
    divergence.push_back((ratio.back() + moved - 1 - std::log(std::max(ratio.back(), 1e-6))) / 2);
  }
  if (divergence.empty()) return {};
  return NormDistance{norm.node, median(divergence), median(shift), median(ratio)};
}

/// Samples and what becomes of each: read once, however many variants are run.
struct Runs {
  std::size_t samples = 0, variants = 0;
  std::function<std::vector<Tensor>(std::size_t sample)> read;
  std::function<Tensor(const Tensor& picture, std::size_t variant)> change;  // absent: as it is
  std::size_t input = 0;                                                     // that is changed
  /// Puts what it sees into a place of that sample's and variant's own.
  std::function<void(std::size_t sample, std::size_t variant, std::size_t output,
                     const TensorView&)>
      see;
};

void run_on_threads(const Graph& g, const Calibration& c, const Runs& runs) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      std::size_t sample = 0, variant = 0;
      const Observer observe = [&](ValueId v, const TensorView& x) {
        for (std::size_t o = 0; o < g.outputs.size(); o++)
          if (g.outputs[o] == v) runs.see(sample, variant, o, x);
      };
      const SampleRunner run = c.make_runner ? c.make_runner(g, g.outputs) : nullptr;
      for (sample = next++; sample < runs.samples; sample = next++) {
        const std::vector<Tensor> as_read = runs.read(sample);
        for (variant = 0; variant < runs.variants; variant++) {
          std::vector<Tensor> in = as_read;
          if (runs.change) in[runs.input] = runs.change(as_read[runs.input], variant);
          if (run)
            run(in, observe);
          else
            evaluate(g, in, {.observe = observe});
          for (std::size_t k = 0; k < g.inputs.size(); k++) observe(g.inputs[k], in[k].view());
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = runs.samples;
    }
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < std::min(c.threads, static_cast<int>(runs.samples)); t++)
    others.emplace_back(work);
  work();
  others.clear();
  if (failure) std::rethrow_exception(failure);
}

class Gatherer {
 public:
  Gatherer(const Graph& imported, const Graph& optimised, const Calibration& c,
           const std::vector<std::size_t>& order, const std::optional<PictureInput>& picture)
      : optimised_(optimised), calibration_(c), order_(order), picture_(picture) {
    std::tie(beginning_, norms_) = beginning(imported);
    if (!picture || optimised.outputs.empty()) return;
    const TensorType& t = optimised[optimised.outputs.front()].type;
    const std::optional<Shape> shape = t.shape();
    if (t.dtype != DType::f32 || !shape || (shape->rank != 2 && shape->rank != 4)) return;
    // Of two classes one is a yes, which a set may well be without.
    if ((*shape)[1] >= 3 && shape->elements() == (*shape)[1])
      classes_ = static_cast<std::size_t>((*shape)[1]);
  }

  Evidence run(const PixelNumbers& numbers) {
    Evidence out;
    out.classes = classes_;
    std::vector<Trial> trials(1);
    compare_norms(trials);
    const std::optional<NormDistance> given = trials.front().farthest;
    const bool right_numbers = given && given->divergence < worth_a_try;
    if (picture_)
      for (Hypothesis& h : hypotheses(numbers, right_numbers)) {
        trials.emplace_back();
        trials.back().hypothesis = std::move(h);
      }
    if (!right_numbers) compare_norms(std::span(trials).subspan(1));
    const std::size_t few =
        std::min(order_.size(), std::clamp(order_.size() / 8, least_first_samples, first_samples));
    answer(trials, {0, few}, &Answers::as_is, {});
    answer(trials, {0, few}, &Answers::moved, moved());
    std::erase_if(trials, [&](const Trial& t) { return t.hypothesis && !promising(trials[0], t); });
    const bool any = trials.size() > 1;
    const std::size_t many = std::min(order_.size(), any ? all_samples : variety_samples);
    answer(trials, {few, many}, &Answers::as_is, {});
    if (any) {
      answer(trials, {few, many}, &Answers::moved, moved());
      answer(trials, {0, many}, &Answers::mirrored, {.mirrored = true});
    }
    out.as_given = std::move(trials.front());
    out.others.assign(std::make_move_iterator(trials.begin() + 1),
                      std::make_move_iterator(trials.end()));
    return out;
  }

 private:
  static bool promising(const Trial& given, const Trial& t) {
    if (given.farthest && t.farthest && t.farthest->divergence < given.farthest->divergence / 2)
      return true;
    return !t.answers.as_is.empty() && agreement(t.answers) > agreement(given.answers);
  }

  static const Hypothesis* hypothesis(const Trial& t) {
    return t.hypothesis ? &*t.hypothesis : nullptr;
  }

  Pose moved() const {
    if (!picture_) return {};
    return {.step = std::max<std::int64_t>(1, std::min(picture_->height, picture_->width) / 32)};
  }

  /// The answers of all trials to a range of samples in that pose.
  void answer(std::vector<Trial>& trials, std::pair<std::size_t, std::size_t> range,
              Probabilities Answers::*to, const Pose& pose) const {
    const auto [from, end] = range;
    for (Trial& t : trials) t.samples = std::max(t.samples, end);
    if (classes_ == 0 || from >= end) return;
    for (Trial& t : trials) (t.answers.*to).resize(end);
    Runs runs{.samples = end - from, .variants = trials.size(), .input = picture_->input};
    const std::size_t first = from;
    runs.read = [&](std::size_t i) { return calibration_.sample(order_[first + i]); };
    runs.change = [&](const Tensor& picture, std::size_t variant) {
      return changed(picture, *picture_, hypothesis(trials[variant]), pose);
    };
    runs.see = [&](std::size_t i, std::size_t variant, std::size_t output, const TensorView& x) {
      if (output == 0) (trials[variant].answers.*to)[first + i] = probabilities(x);
    };
    run_on_threads(optimised_, calibration_, runs);
  }

  /// What the first layers read of the samples, as trials change them.
  void compare_norms(std::span<Trial> trials) const {
    if (norms_.empty() || trials.empty()) return;
    Runs runs{.samples = std::min(order_.size(), norm_samples), .variants = trials.size()};
    std::vector<std::vector<NormSums>> sums(runs.samples * trials.size(),
                                            std::vector<NormSums>(norms_.size()));
    runs.read = [&](std::size_t i) { return calibration_.sample(order_[i]); };
    if (picture_) {
      runs.input = picture_->input;
      runs.change = [&](const Tensor& picture, std::size_t variant) {
        return changed(picture, *picture_, hypothesis(trials[variant]));
      };
    }
    runs.see = [&](std::size_t i, std::size_t variant, std::size_t output, const TensorView& x) {
      sums[i * trials.size() + variant][output].add(x, norms_[output].mean.size());
    };
    run_on_threads(beginning_, calibration_, runs);
    for (std::size_t t = 0; t < trials.size(); t++)
      for (std::size_t n = 0; n < norms_.size(); n++) {
        NormSums all;
        for (std::size_t i = 0; i < runs.samples; i++) all.add(sums[i * trials.size() + t][n]);
        const std::optional<NormDistance> d = distance(norms_[n], all);
        if (d && (!trials[t].farthest || d->divergence > trials[t].farthest->divergence))
          trials[t].farthest = d;
      }
  }

  const Graph& optimised_;
  const Calibration& calibration_;
  const std::vector<std::size_t>& order_;
  const std::optional<PictureInput>& picture_;
  Graph beginning_;
  std::vector<Norm> norms_;
  std::size_t classes_ = 0;
};

}  // namespace

Evidence gather_evidence(const Graph& imported, const Graph& optimised, const Calibration& c,
                         const std::vector<std::size_t>& order,
                         const std::optional<PictureInput>& picture, const PixelNumbers& numbers) {
  return Gatherer(imported, optimised, c, order, picture).run(numbers);
}

}  // namespace longshore
