#include "quantize/calibration.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "ir/op.hpp"

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

/// Runs the samples on several threads. `Memory` is what a thread gathers; `see` adds a value to
/// it. Returns one per thread; merging them must be commutative.
template <class Memory, class See>
std::vector<Memory> run_samples(const Graph& g, const Calibration& c, std::span<const ValueId> watched,
                                const std::set<std::size_t>& skip, std::vector<Unreadable>* unreadable,
                                std::string_view pass, const Memory& start, See&& see) {
  const auto threads = static_cast<std::size_t>(
      std::clamp<std::int64_t>(c.threads, 1, static_cast<std::int64_t>(std::max<std::size_t>(c.count, 1))));
  std::vector<Memory> memories(threads, start);
  const std::set<ValueId> wanted(watched.begin(), watched.end());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto work = [&](std::size_t thread) {
    try {
      const SampleRunner run = c.make_runner ? c.make_runner(g, watched) : reference_runner(g, watched);
      const Observer observe = [&](ValueId v, const TensorView& t) {
        if (wanted.contains(v) && t.dtype == DType::f32) see(memories[thread], v, floats(t));
      };
      for (std::size_t i = next++; i < c.count; i = next++) {
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
        if (c.progress) c.progress(pass, ++done, c.count - skip.size());
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

ObservedRanges observe_ranges(const Graph& g, const Calibration& c, std::span<const ValueId> values) {
  if (c.count == 0) fail(Code::bad_argument, "the calibration data set is empty");
  ObservedRanges out;
  using Memory = std::map<ValueId, RangeStatistics>;
  const auto memories = run_samples<Memory>(
      g, c, values, {}, &out.unreadable, "ranges", {},
      [](Memory& m, ValueId v, std::span<const float> x) { m[v].add_sample(x); });
  for (const Memory& m : memories)
    for (const auto& [v, statistics] : m) out.values[v].merge(statistics);
  std::ranges::sort(out.unreadable, {}, &Unreadable::sample);
  out.samples = c.count - out.unreadable.size();
  if (out.samples == 0) {
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(out.unreadable.size(), 10); i++)
      list += str("\n  ", out.unreadable[i].name, ": ", out.unreadable[i].why);
    fail(Code::bad_argument, "none of the ", c.count, " calibration samples can be read:", list);
  }
  return out;
}

void observe_histograms(const Graph& g, const Calibration& c, const ObservedRanges& ranges,
                        std::map<ValueId, Histogram>& histograms) {
  if (histograms.empty()) return;
  std::set<std::size_t> skip;
  for (const Unreadable& u : ranges.unreadable) skip.insert(u.sample);
  std::vector<ValueId> values;
  for (const auto& [v, histogram] : histograms) values.push_back(v);
  using Memory = std::map<ValueId, Histogram>;
  const auto memories =
      run_samples<Memory>(g, c, values, skip, nullptr, "histograms", histograms,
                          [](Memory& m, ValueId v, std::span<const float> x) { m.at(v).add(x); });
  for (const Memory& m : memories)
    for (const auto& [v, histogram] : m) histograms.at(v).merge(histogram);
}

}  // namespace longshore
