#pragma once
#include "ir/graph.hpp"
#include "read/image.hpp"

namespace longshore {

/// How programs are given pictures, where that is not what the model reads.
struct InputFormat {
  enum class Layout : std::uint8_t { model, nchw, nhwc };
  Layout layout = Layout::model;
  bool bytes = false;  // u8 from 0 to 255, as cameras and decoders give them; else f32

  bool changes() const { return bytes || layout != Layout::model; }
};

/// The same model, whose inputs of pictures (f32, rank 4, 1 or 3 channels) have this format. Bytes
/// become (byte - mean) / std inside, by `numbers`; with its `bgr` they are given as red, green,
/// blue and the model gets blue, green, red. Of a quantised model nothing becomes float: where the
/// codes of the input are the bytes (all but 128 of them apart), nothing is computed at all, and
/// otherwise a 1x1 convolution makes the codes, each the nearest (the mean is exact to 1/254 of a
/// pixel). Throws where there is no such input.
Graph with_input_format(const Graph&, const InputFormat&, const ImageOptions& numbers);

}  // namespace longshore
