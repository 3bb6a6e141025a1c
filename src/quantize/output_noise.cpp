#include "quantize/output_noise.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "ir/recode.hpp"

namespace longshore {
namespace {

/// What the float model's values of all samples may take together.
constexpr std::size_t most_bytes = std::size_t{512} << 20;

/// What depends on one value: the graph from its rounded numbers on.
struct Behind {
  Graph graph;
  std::vector<ValueId> inputs;       // of the whole graph, as graph.inputs
  std::vector<std::size_t> outputs;  // places in the whole graph's outputs, as graph.outputs
};

Behind behind(const Graph& g, const Rounded& r) {
  std::vector<bool> depends(g.values.size());
  depends[index(r.value)] = true;
  const auto any = [&](const std::vector<ValueId>& list) {
    return std::ranges::any_of(list, [&](ValueId v) { return v != no_value && depends[index(v)]; });
  };
  Behind out{g, {}, {}};
  Graph& part = out.graph;
  part.nodes.clear();
  part.inputs.clear();
  part.outputs.clear();
  part.states.clear();
  for (Value& v : part.values) v.def = -1;

  TensorType type = g[r.value].type;
  type.dtype = r.dtype;
  type.quant.scale = {r.codes.scale};
  type.quant.zero_point = {r.codes.zero_point};
  const ValueId codes = part.add_value("", type);
  const ValueId rounded = part.add_value("", g[r.value].type);
  const auto append = [&](const OpDef& op, ValueId from, ValueId to) {
    Node n;
    n.op = &op;
    n.inputs = {from};
    n.outputs = {to};
    n.origin.name = part[to].name;
    part.add_node(std::move(n), 0);
  };
  append(ops::op_longshore_quantize::definition, r.value, codes);
  append(ops::op_longshore_dequantize::definition, codes, rounded);

  std::vector<bool> given(g.values.size());
  const auto give = [&](ValueId v) {
    if (v == no_value || g.constant(v) || given[index(v)]) return;
    given[index(v)] = true;
    out.inputs.push_back(v);
  };
  give(r.value);
  for (const Node& n : g.nodes) {
    bool reads = any(n.inputs);
    for (const Subgraph& s : n.subgraphs) reads = reads || any(s.captures);
    if (!reads) continue;
    Node copy = n;
    const auto replace = [&](std::vector<ValueId>& list) {
      for (ValueId& v : list) {
        if (v != no_value && !depends[index(v)]) give(v);
        if (v == r.value) v = rounded;
      }
    };
    replace(copy.inputs);
    for (Subgraph& s : copy.subgraphs) replace(s.captures);
    for (ValueId v : n.outputs)
      if (v != no_value) depends[index(v)] = true;
    for (ValueId v : n.outputs)
      if (v != no_value) part[v].def = static_cast<int>(part.nodes.size());
    part.nodes.push_back(std::move(copy));
  }
  part.inputs = out.inputs;
  for (std::size_t o = 0; o < g.outputs.size(); o++) {
    const ValueId v = g.outputs[o];
    if (!depends[index(v)]) continue;
    out.outputs.push_back(o);
    part.outputs.push_back(v == r.value ? rounded : v);
  }
  part = tidy(part);
  return out;
}

/// All that the nodes of a graph read and no constant is, of one sample.
using Values = std::map<ValueId, Tensor>;

SampleRunner runner(const Calibration& c, const Graph& g, std::span<const ValueId> watched) {
  if (c.make_runner) return c.make_runner(g, watched);
  return [&g](std::span<const Tensor> inputs, const Observer& observe) {
    evaluate(g, inputs, {.observe = observe});
  };
}

/// The float values of the first samples, as many as there is room for, at least one.
std::vector<Values> float_values(const Graph& g, const Calibration& c) {
  std::vector<ValueId> watched;
  for (const Node& n : g.nodes)
    for (ValueId v : n.outputs)
      if (v != no_value) watched.push_back(v);
  const SampleRunner run = runner(c, g, watched);
  std::vector<Values> out;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < c.count; i++) {
    std::vector<Tensor> inputs;
    try {
      inputs = c.sample(i);
    } catch (const Error& e) {
      if (e.code() == Code::internal) throw;
      continue;  // the first pass lists it
    }
    Values values;
    for (std::size_t k = 0; k < g.inputs.size(); k++) values[g.inputs[k]] = inputs[k];
    run(inputs, [&](ValueId v, const TensorView& t) { values[v] = copy_tensor(t); });
    for (const auto& [v, t] : values) bytes += t.bytes();
    if (!out.empty() && bytes > most_bytes) break;
    out.push_back(std::move(values));
  }
  return out;
}

std::span<const float> floats(const TensorView& t) {
  return {t.as<float>(), static_cast<std::size_t>(t.elements())};
}

double share(const std::vector<double>& noise, const std::vector<double>& signal) {
  double worst = 0;
  for (std::size_t o = 0; o < signal.size(); o++)
    if (signal[o] > 0) worst = std::max(worst, noise[o] / signal[o]);
  return worst;
}

double squared_difference(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); i++) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return sum;
}

/// Along the last axis; 0 where that is unknown or the output is a picture.
std::size_t classes_of(const TensorType& t) {
  if (!t.ranked || t.rank() < 1 || t.rank() > 3 || !t.dims.back().known()) return 0;
  return static_cast<std::size_t>(t.dims.back().value);
}

double lost_of_row(std::span<const float> want, std::span<const float> got) {
  const auto best = [](std::span<const float> row) {
    return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
  };
  const std::size_t first = best(want), said = best(got);
  if (first == said) return 0;
  double sum = 0, weights = 0;
  for (float x : want) {
    sum += static_cast<double>(x);
    weights += std::exp(static_cast<double>(x) - static_cast<double>(want[first]));
  }
  const auto at = [&](std::size_t i) { return static_cast<double>(want[i]); };
  const bool probabilities = *std::ranges::min_element(want) >= 0 && std::abs(sum - 1) < 0.01;
  if (probabilities) return at(first) - at(said);
  return (1 - std::exp(at(said) - at(first))) / weights;
}

double noise_behind(const Graph& g, const Calibration& c, const Rounded& r,
                    const std::vector<Values>& samples, const std::vector<double>& signal) {
  const Behind part = behind(g, r);
  if (part.outputs.empty()) return 0;
  std::vector<double> noise(g.outputs.size());
  const SampleRunner run = runner(c, part.graph, part.graph.outputs);
  for (const Values& values : samples) {
    std::vector<Tensor> inputs;
    for (ValueId v : part.inputs) inputs.push_back(values.at(v));
    run(inputs, [&](ValueId v, const TensorView& t) {
      for (std::size_t k = 0; k < part.outputs.size(); k++)
        if (part.graph.outputs[k] == v && t.dtype == DType::f32)
          noise[part.outputs[k]] +=
              squared_difference(values.at(g.outputs[part.outputs[k]]).values<float>(), floats(t));
    });
  }
  return share(noise, signal);
}

}  // namespace

double Nearness::db() const {
  constexpr double most = 300;
  return noise > 0 ? std::min(most, -10 * std::log10(noise)) : most;
}

double Nearness::drop_percent() const { return std::max(100 * noise, lost_percent); }

Nearness nearness(const Graph& g, const Outputs& want, const Outputs& got) {
  const std::size_t count = g.outputs.size();
  std::vector<double> signal(count), noise(count), lost(count);
  std::vector<std::size_t> rows(count);
  for (const auto& [sample, outputs] : got)
    for (std::size_t o = 0; o < count; o++) {
      const std::vector<float>& wanted = want.at(sample)[o];
      const std::vector<float> zero(wanted.size());
      signal[o] += squared_difference(wanted, zero);
      noise[o] += squared_difference(wanted, outputs[o]);
      const std::size_t classes = classes_of(g[g.outputs[o]].type);
      if (classes < 2 || outputs[o].size() != wanted.size()) continue;
      for (std::size_t at = 0; at + classes <= wanted.size(); at += classes, rows[o]++)
        lost[o] += lost_of_row(std::span(wanted).subspan(at, classes),
                               std::span(outputs[o]).subspan(at, classes));
    }
  Nearness out{.noise = share(noise, signal)};
  for (std::size_t o = 0; o < count; o++)
    if (rows[o] > 0)
      out.lost_percent = std::max(out.lost_percent, 100 * lost[o] / static_cast<double>(rows[o]));
  return out;
}

std::vector<double> output_noise(const Graph& g, const Calibration& calibration,
                                 std::span<const Rounded> values) {
  const std::vector<Values> samples = float_values(g, calibration);
  std::vector<double> signal(g.outputs.size());
  for (const Values& sample : samples)
    for (std::size_t o = 0; o < g.outputs.size(); o++)
      if (const Tensor& t = sample.at(g.outputs[o]); t.dtype == DType::f32)
        for (float x : t.values<float>())
          signal[o] += static_cast<double>(x) * static_cast<double>(x);

  std::vector<double> out(values.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < values.size(); i = next++) {
        out[i] = noise_behind(g, calibration, values[i], samples, signal);
        const std::lock_guard lock(mutex);
        if (!failure && calibration.progress)
          calibration.progress("sensitivity", ++done, values.size());
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = values.size();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < calibration.threads; t++) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return out;
}

}  // namespace longshore
