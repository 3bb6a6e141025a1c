// Calibration samples: where they come from is the caller's, what they must be is checked here.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "quantize/calibration.hpp"

namespace longshore::compile {

/// Samples for the inputs of a graph, in their order. Called from several threads; a sample that
/// cannot be read throws Error, is left out and listed.
struct Samples {
  std::size_t count = 0;
  std::function<std::vector<Tensor>(std::size_t sample)> get;
  /// What to call a sample's tensor in messages, say its file; may be empty.
  std::function<std::string(std::size_t sample, std::size_t input)> name;
};
using SamplesFor = std::function<Samples(const Graph&)>;

/// Seeded random data for an input: floats normally distributed, integers 0 or 1; unknown dims
/// are 1.
Tensor random_input(const TensorType&, std::uint64_t seed);

/// Stands in where there are no samples: at most 16, fewer of large inputs, made as they are asked
/// for.
Samples random_samples(const Graph&);

/// As quantize wants them, run by the CPU's kernels. A NaN, an infinity or a number beyond 1e30
/// ends calibration with an Error that names it.
Calibration calibration(const Graph&, const Samples&, int threads);

}  // namespace longshore::compile
