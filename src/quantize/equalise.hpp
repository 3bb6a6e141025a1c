// Channels of an activation that reach far apart share one scale, and the small ones get few codes.
// Where what makes them and all that reads them multiplies by weights, each channel can be divided
// by a number of its own and the weights behind it multiplied by that: the float function is the
// same, and the codes are used.
#pragma once
#include <string>
#include <vector>

#include "quantize/calibration.hpp"

namespace longshore {

/// Values whose channels were divided by the same numbers.
struct Equalised {
  std::string name;           // of the first of them
  std::size_t values = 0;     // how many
  float least = 1, most = 1;  // of what channels were divided by
  double noise = 0;           // expected noise, of what it was
};

/// The graph with its channels equalised where that is expected to lower the noise of 8-bit codes,
/// by activations and weights together. Covers cross-layer equalisation (convolutions in a row,
/// with what is the same for x and a multiple of x between) and SmoothQuant (LayerNormalization
/// before products). Expects the graph of prepare_for_quantisation.
Graph equalise(const Graph&, const Calibration&, std::vector<Equalised>&);

}  // namespace longshore
