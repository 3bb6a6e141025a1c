// Where a little more, or less, of a dimension makes a layer much slower on the NPU.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/compile.hpp"

namespace longshore::compile {

/// What is varied of a layer: its input's channels, its output's, or the rows and columns of its
/// input (rank 3: its tokens are rows).
enum class Varied : std::uint8_t { input_channels, output_channels, rows, columns };
std::string_view name(Varied);

/// Predicted time by size, of sizes that lie side by side.
struct SizeTime {
  std::int64_t size = 0;
  double us = 0;
};

/// Two sizes side by side whose times differ by more than a factor.
struct Cliff {
  SizeTime low, high;  // high.size == low.size + 1

  double jump() const { return low.us > high.us ? low.us / high.us : high.us / low.us; }
  /// The size on the fast side.
  std::int64_t better() const { return low.us > high.us ? high.size : low.size; }
};
/// All of them where times jump by more than `factor`. `times` by size, which may have gaps.
std::vector<Cliff> find_cliffs(std::span<const SizeTime> times, double factor);

/// Nodes whose layers can be varied: they multiply by constant weights on the NPU, in one group,
/// and their result is quantised. The dearest first; of those with equal dims the first alone.
std::vector<std::size_t> variable_layers(const Compiled&);

/// Times of the node alone on the NPU (no fused nodes, pixels or rows side by side in memory) from
/// `reach` below its size to `reach` above, its own included. Sizes that the node, the target or
/// the SRAM does not allow are left out; empty where the node has no such dimension.
std::vector<SizeTime> vary_layer(const Compiled&, std::size_t node, Varied, int reach,
                                 const plan::PlanOptions&);
/// The size that it has.
std::int64_t size_of(const Compiled&, std::size_t node, Varied);

/// Milliseconds of the whole model, as `options` build it, where the dim called `name` has that
/// size.
double model_ms(const Options& options, const std::string& name, std::int64_t size);

}  // namespace longshore::compile
