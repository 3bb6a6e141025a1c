#include "compile/samples.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "compile/compile.hpp"
#include "measure/runner.hpp"
#include "tensor/visit.hpp"

namespace longshore::compile {
namespace {

/// Codes for anything beyond would leave none for the rest (as quantize has it).
constexpr double largest_sensible = 1e30;

constexpr std::size_t random_count = 16;
/// Of all random samples together: more would say no more, and take minutes.
constexpr std::int64_t random_elements = std::int64_t{1} << 24;

MakeSampleRunner fast_runner() {
  return [](const Graph& g, std::span<const ValueId>) -> SampleRunner {
    struct State {
      const Observer* observe = nullptr;
      std::optional<Runner> runner;
    };
    const auto state = std::make_shared<State>();
    RunnerOptions options;
    options.observe = [raw = state.get()](ValueId v, const TensorView& t) {
      (*raw->observe)(v, t);
    };
    state->runner.emplace(g, options);
    return [state](std::span<const Tensor> inputs, const Observer& observe) {
      state->observe = &observe;
      state->runner->run(inputs);
    };
  };
}

/// The first element that no range can hold.
std::optional<std::pair<std::int64_t, double>> first_unusable(const Tensor& t) {
  std::optional<std::pair<std::int64_t, double>> out;
  visit_type(TypeList<float, double, Float16, BFloat16>{}, t.dtype, [&]<class T>() {
    const auto values = t.values<T>();
    for (std::size_t i = 0; i < values.size() && !out; i++) {
      const auto x = static_cast<double>(static_cast<float>(values[i]));
      if (!(std::abs(x) < largest_sensible)) out.emplace(static_cast<std::int64_t>(i), x);
    }
  });
  return out;
}

}  // namespace

Tensor random_input(const TensorType& type, std::uint64_t seed) {
  if (!type.ranked)
    fail(Code::bad_argument, "an input has no known rank; give it a file with --input");
  Shape shape;
  for (const Dim& d : type.dims) shape.push(d.known() ? d.value : 1);
  const std::int64_t n = checked_elements(shape, std::int64_t{1} << 31);
  if (n < 0)
    fail(Code::exhausted, "an input of type ", print(type), " is too large for random data");
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * size_bytes(type.dtype));
  std::mt19937_64 rng(seed);
  std::normal_distribution<float> normal;
  visit_type(AllTypes{}, type.dtype, [&]<class T>() {
    T* out = reinterpret_cast<T*>(bytes.data());
    for (std::int64_t i = 0; i < n; i++) {
      if constexpr (std::is_same_v<T, Bool8>)
        out[i] = T((rng() & 1u) != 0);
      else if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<T>(rng() & 1u);
      else if constexpr (std::is_constructible_v<T, std::int64_t> &&
                         !std::is_convertible_v<T, float>)
        out[i] = T(static_cast<std::int64_t>(rng() & 1u));
      else
        out[i] = T(normal(rng));
    }
  });
  return {type.dtype, shape, make_blob(std::move(bytes))};
}

Samples random_samples(const Graph& g) {
  std::vector<TensorType> types;
  std::int64_t elements = 1;
  for (ValueId v : g.inputs) {
    types.push_back(g[v].type);
    std::int64_t n = 1;
    for (const Dim& d : g[v].type.dims)
      n = std::min(random_elements, n * (d.known() ? std::min(d.value, random_elements) : 1));
    elements += n;
  }
  Samples s;
  s.count = std::clamp<std::size_t>(static_cast<std::size_t>(random_elements / elements), 1,
                                    random_count);
  s.get = [types](std::size_t i) {
    std::vector<Tensor> out;
    for (std::size_t k = 0; k < types.size(); k++)
      out.push_back(random_input(types[k], 1 + i * types.size() + k));
    return out;
  };
  return s;
}

Calibration calibration(const Graph& g, const Samples& samples, int threads) {
  const auto s = std::make_shared<const Samples>(samples);
  std::vector<std::string> inputs;
  for (ValueId v : g.inputs) inputs.push_back(g[v].name);
  const auto name = [s](std::size_t i, std::size_t k) {
    return s->name ? s->name(i, k) : str("calibration sample ", i);
  };
  Calibration c;
  c.count = s->count;
  c.threads = threads;
  c.make_runner = fast_runner();
  c.name = [name](std::size_t i) { return name(i, 0); };
  c.sample = [s, name, inputs](std::size_t i) {
    std::vector<Tensor> out = s->get(i);
    for (std::size_t k = 0; k < out.size(); k++)
      if (const auto found = first_unusable(out[k]))
        throw UnusableSample{str(name(i, k), ": ", found->second, " at element ", found->first,
                                 k < inputs.size() ? str(" for input '", inputs[k], "'") : "",
                                 "; calibration needs finite numbers below 1e30")};
    return out;
  };
  return c;
}

}  // namespace longshore::compile
