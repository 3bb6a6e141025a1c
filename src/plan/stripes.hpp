// Neighbouring layers whose tasks take turns, stripe by stripe: rows of those that none of them
// reads in equal parts, and of each before these the rows that they need.
#pragma once
#include "plan/share.hpp"

namespace longshore::plan {

/// How a cascade is cut.
struct StripeCut {
  std::int64_t stripes = 1;
  std::int64_t pieces = 1;               // tiles of a stripe, of the first and the last layer
  std::size_t turns = 1;                 // stripes of each kept tensor at once, on each core
  std::uint32_t cores = 1;               // stripes are dealt out to
  std::vector<std::int64_t> channels{};  // output channels of a tile, by layer
};

/// Layers that hand each other stripes: with slots, and the tasks, whose layers are numbers into
/// these.
struct Stripes {
  std::vector<Layer> layers;
  std::vector<TileTask> tasks;
  std::uint64_t bytes = 0;  // of SRAM
};

/// Cuts so, but for `channels`: the most that fit into the SRAM, halved where the most weights are.
/// Nothing if it does not fit.
std::optional<Stripes> fit_stripes(const Plan&, std::span<const Layer>, const Links&, StripeCut);

}  // namespace longshore::plan
