#include "quantize/calibration.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore {
namespace {

SampleRunner reference_runner(const Graph& g, std::span<const ValueId>) {
  return [&g](std::span<const Tensor> inputs, const Observer& observe) {
    evaluate(g, inputs, {.observe = observe});
  };
}

std::span<const float> floats(const TensorView& t) {
  return {t.as<float>(), static_cast<std::size_t>(t.elements())};
}

std::string sample_name(const Calibration& c, std::size_t i) {
  return c.name ? c.name(i) : str("sample ", i);
}

std::set<std::size_t> unreadable_samples(const ObservedRanges& ranges) {
  std::set<std::size_t> out;
  for (const Unreadable& u : ranges.unreadable) out.insert(u.sample);
  return out;
}

/// Runs the samples on several threads. `Memory` is what a thread gathers; `see` adds a value of a
/// sample to it. Returns one per thread; merging them must be commutative.
template <class Memory, class See>
std::vector<Memory> run_samples(const Graph& g, const Calibration& c,
                                std::span<const ValueId> watched, const std::set<std::size_t>& skip,
                                std::vector<Unreadable>* unreadable, std::string_view pass,
                                const Memory& start, See&& see) {
  const auto threads = static_cast<std::size_t>(std::clamp<std::int64_t>(
      c.threads, 1, static_cast<std::int64_t>(std::max<std::size_t>(c.count, 1))));
  std::vector<Memory> memories(threads, start);
  const std::set<ValueId> wanted(watched.begin(), watched.end());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto work = [&](std::size_t thread) {
    try {
      const SampleRunner run =
          c.make_runner ? c.make_runner(g, watched) : reference_runner(g, watched);
      std::size_t i = 0;
      const Observer observe = [&](ValueId v, const TensorView& t) {
        if (wanted.contains(v) && t.dtype == DType::f32) see(memories[thread], i, v, t);
      };
      for (i = next++; i < c.count; i = next++) {
        if (skip.contains(i)) continue;
        std::vector<Tensor> inputs;
        try {
          inputs = c.sample(i);
        } catch (const Error& e) {
          if (e.code() == Code::internal || !unreadable) throw;
          const std::lock_guard lock(mutex);
          unreadable->push_back({i, sample_name(c, i), e.what()});
          continue;
        }
        run(inputs, observe);
        for (std::size_t k = 0; k < g.inputs.size() && k < inputs.size(); k++)
          observe(g.inputs[k], inputs[k].view());
        const std::lock_guard lock(mutex);
        if (failure || !c.progress) continue;
        try {
          c.progress(pass, ++done, c.count - skip.size());
        } catch (...) {  // told while the lock is held, so that nobody calls it again
          failure = std::current_exception();
          next = c.count;
          return;
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = c.count;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; t++) others.emplace_back(work, t);
  work(0);
  others.clear();
  if (failure) std::rethrow_exception(failure);
  return memories;
}

}  // namespace

Calibration calibration_from(std::vector<std::vector<Tensor>> samples) {
  Calibration c;
  c.count = samples.size();
  c.sample = [samples = std::move(samples)](std::size_t i) { return samples[i]; };
  return c;
}

ObservedRanges observe_ranges(const Graph& g, const Calibration& c,
                              std::span<const ValueId> values) {
  if (c.count == 0) fail(Code::bad_argument, "the calibration data set is empty");
  ObservedRanges out;
  using Memory = std::map<ValueId, RangeStatistics>;
  const auto memories = run_samples<Memory>(
      g, c, values, {}, &out.unreadable, "ranges", {},
      [](Memory& m, std::size_t, ValueId v, const TensorView& x) { m[v].add_sample(floats(x)); });
  for (const Memory& m : memories)
    for (const auto& [v, statistics] : m) out.values[v].merge(statistics);
  std::ranges::sort(out.unreadable, {}, &Unreadable::sample);
  out.samples = c.count - out.unreadable.size();
  if (out.samples == 0) {
    const Unreadable& first = out.unreadable.front();
    const bool named = first.why.find(first.name) != std::string::npos;
    fail(Code::bad_argument, "none of the ", c.count,
         " calibration samples can be read; the first: ", named ? "" : first.name + ": ",
         first.why);
  }
  return out;
}

void observe_histograms(const Graph& g, const Calibration& c, const ObservedRanges& ranges,
                        std::map<ValueId, Histogram>& histograms) {
  if (histograms.empty()) return;
  std::vector<ValueId> values;
  for (const auto& [v, histogram] : histograms) values.push_back(v);
  using Memory = std::map<ValueId, Histogram>;
  const auto memories = run_samples<Memory>(
      g, c, values, unreadable_samples(ranges), nullptr, "histograms", histograms,
      [](Memory& m, std::size_t, ValueId v, const TensorView& x) { m.at(v).add(floats(x)); });
  for (const Memory& m : memories)
    for (const auto& [v, histogram] : m) histograms.at(v).merge(histogram);
}

namespace {

/// Integers in which sums of floats are exact enough and commutative: units of 2^-40.
__extension__ using Wide = __int128;
constexpr double units = 1099511627776.0;

struct ChannelSums {
  std::vector<Wide> real;
  std::vector<std::int64_t> codes;  // less the zero point
  std::uint64_t each = 0;           // elements of one channel

  void add(const TensorView& x, ScaleAndZero q, DType dtype) {
    if (x.shape.rank < 2) return;
    const CodeRange range = code_range(dtype);
    const std::int64_t channels = x.shape[1], inner = x.shape.product(2, x.shape.rank);
    if (real.empty())
      real.resize(static_cast<std::size_t>(channels)),
          codes.resize(static_cast<std::size_t>(channels));
    if (static_cast<std::int64_t>(real.size()) != channels) return;  // dims that change by sample
    const float* at = x.as<float>();
    for (std::int64_t n = 0; n < x.shape[0]; n++)
      for (std::int64_t c = 0; c < channels; c++) {
        double sum = 0;
        std::int64_t sum_codes = 0;
        for (std::int64_t i = 0; i < inner; i++, at++) {
          sum += static_cast<double>(*at);
          sum_codes +=
              quantise(*at, q.scale, q.zero_point, range.lowest, range.highest) - q.zero_point;
        }
        real[static_cast<std::size_t>(c)] +=
            static_cast<Wide>(std::nearbyint(std::clamp(sum, -1e24, 1e24) * units));
        codes[static_cast<std::size_t>(c)] += sum_codes;
      }
    each += static_cast<std::uint64_t>(x.shape[0] * inner);
  }
};

}  // namespace

std::map<ValueId, ChannelMeans> observe_means(const Graph& g, const Calibration& c,
                                              const ObservedRanges& ranges,
                                              const std::map<ValueId, ScaleAndZero>& scales,
                                              DType dtype) {
  std::map<ValueId, ChannelMeans> out;
  if (scales.empty()) return out;
  std::vector<ValueId> values;
  for (const auto& [v, q] : scales) values.push_back(v);
  using Memory = std::map<ValueId, ChannelSums>;
  const auto memories =
      run_samples<Memory>(g, c, values, unreadable_samples(ranges), nullptr, "means", {},
                          [&](Memory& m, std::size_t, ValueId v, const TensorView& x) {
                            m[v].add(x, scales.at(v), dtype);
                          });
  Memory all;
  for (const Memory& m : memories)
    for (const auto& [v, sums] : m) {
      ChannelSums& to = all[v];
      if (to.real.empty()) to.real.resize(sums.real.size()), to.codes.resize(sums.codes.size());
      for (std::size_t i = 0; i < sums.real.size() && i < to.real.size(); i++) {
        to.real[i] += sums.real[i];
        to.codes[i] += sums.codes[i];
      }
      to.each += sums.each;
    }
  for (const auto& [v, sums] : all) {
    if (sums.each == 0) continue;
    ChannelMeans& means = out[v];
    const auto n = static_cast<double>(sums.each);
    for (Wide w : sums.real) means.real.push_back(static_cast<double>(w) / units / n);
    for (std::int64_t k : sums.codes)
      means.coded.push_back(static_cast<double>(k) * static_cast<double>(scales.at(v).scale) / n);
  }
  return out;
}

namespace {

/// What `observe_channels` gathers of a value.
struct ChannelSquares {
  std::vector<Range> range;
  std::vector<Wide> squares;
  std::uint64_t each = 0;  // elements of one channel
  bool varies = false;

  void add(const TensorView& x, int axis) {
    const std::int64_t channels = x.shape[axis], outer = x.shape.product(0, axis),
                       inner = x.shape.product(axis + 1, x.shape.rank);
    if (range.empty()) {
      range.resize(static_cast<std::size_t>(channels));
      squares.resize(static_cast<std::size_t>(channels));
    }
    varies |= static_cast<std::int64_t>(range.size()) != channels;
    if (varies) return;
    const float* at = x.as<float>();
    for (std::int64_t n = 0; n < outer; n++)
      for (std::size_t c = 0; c < range.size(); c++) {
        double sum = 0;
        for (std::int64_t i = 0; i < inner; i++, at++) {
          range[c].lowest = std::min(range[c].lowest, *at);
          range[c].highest = std::max(range[c].highest, *at);
          sum += static_cast<double>(*at) * static_cast<double>(*at);
        }
        if (std::isfinite(sum))
          squares[c] += static_cast<Wide>(std::nearbyint(std::min(sum, 1e24) * units));
      }
    each += static_cast<std::uint64_t>(outer * inner);
  }
  void merge(const ChannelSquares& other) {
    if (other.range.empty()) return;
    if (range.empty()) {
      *this = other;
      return;
    }
    varies |= other.varies || range.size() != other.range.size();
    if (varies) return;
    for (std::size_t c = 0; c < range.size(); c++) {
      range[c].lowest = std::min(range[c].lowest, other.range[c].lowest);
      range[c].highest = std::max(range[c].highest, other.range[c].highest);
      squares[c] += other.squares[c];
    }
    each += other.each;
  }
};

}  // namespace

std::map<ValueId, ChannelStatistics> observe_channels(const Graph& g, const Calibration& c,
                                                      const std::map<ValueId, int>& axes) {
  if (axes.empty()) return {};
  std::vector<ValueId> values;
  for (const auto& [v, axis] : axes) values.push_back(v);
  Calibration few = c;
  few.count = std::min<std::size_t>(c.count, 64);
  std::vector<Unreadable> unreadable;  // the first pass over all of them tells of these
  using Memory = std::map<ValueId, ChannelSquares>;
  const auto memories =
      run_samples<Memory>(g, few, values, {}, &unreadable, "channels", {},
                          [&](Memory& m, std::size_t, ValueId v, const TensorView& x) {
                            if (axes.at(v) < x.shape.rank) m[v].add(x, axes.at(v));
                          });
  Memory all;
  for (const Memory& m : memories)
    for (const auto& [v, squares] : m) all[v].merge(squares);
  std::map<ValueId, ChannelStatistics> out;
  for (auto& [v, squares] : all) {
    if (squares.varies || squares.each == 0) continue;
    ChannelStatistics& to = out[v];
    to.range = std::move(squares.range);
    for (Wide w : squares.squares)
      to.mean_square.push_back(static_cast<double>(w) / units / static_cast<double>(squares.each));
  }
  return out;
}

std::map<std::size_t, std::vector<std::vector<float>>> observe_outputs(const Graph& g,
                                                                       const Calibration& c) {
  std::vector<Unreadable> unreadable;
  using Memory = std::map<std::size_t, std::vector<std::vector<float>>>;
  auto memories =
      run_samples<Memory>(g, c, g.outputs, {}, &unreadable, "outputs", {},
                          [&](Memory& m, std::size_t sample, ValueId v, const TensorView& x) {
                            std::vector<std::vector<float>>& outputs = m[sample];
                            outputs.resize(g.outputs.size());
                            for (std::size_t o = 0; o < g.outputs.size(); o++)
                              if (g.outputs[o] == v)
                                outputs[o].assign(floats(x).begin(), floats(x).end());
                          });
  Memory all;
  for (Memory& m : memories) all.merge(m);
  return all;
}

}  // namespace longshore
