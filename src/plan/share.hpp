// What the layers of a plan read and write of each buffer, and what a few of them in a row can hand
// each other in SRAM.
#pragma once
#include "plan/stages.hpp"

namespace longshore::plan {

/// Reads or writes of one buffer. A use is simple if it walks the rows and pixels of the whole and
/// a block of its channels.
struct BufferUses {
  struct Use {
    std::size_t layer = 0;
    std::size_t operand = 0;       // of all stages, one after the other; of readers
    std::optional<Span> channels;  // nothing: not simple
    bool overlaps(const Use& other) const;
  };
  Extent extent;
  View whole;
  std::int64_t element_bytes = 1;
  bool outside = false;  // something other than layers uses it too
  std::vector<Use> makers, readers;
};

/// By buffer.
std::vector<BufferUses> buffer_uses(const Plan&);

/// Channels of a tensor that layers share.
struct Share {
  std::size_t tensor = 0;
  std::int64_t channel = 0;  // of the tensor, where those of the layer begin
  bool operator==(const Share&) const = default;
};

/// Some channels of a buffer that layers share in SRAM.
struct SharedTensor {
  std::uint32_t buffer = no_buffer;
  Span channels;
  std::size_t first = 0, last = 0;  // layers that use it
  bool operator==(const SharedTensor&) const = default;
};

/// What no layer of them makes and a reader loads for itself and those that follow.
struct SharedLoad {
  std::size_t layer = 0, operand = 0;
  Span channels;  // of the operand
};

/// What layers in a row share. Their numbers begin at the first of them.
struct Links {
  std::vector<SharedTensor> tensors;
  std::vector<std::optional<Share>> results;                // by layer
  std::vector<std::vector<std::optional<Share>>> operands;  // by layer, of all stages
  std::vector<SharedLoad> loads;
  std::vector<bool> stored;         // by layer: others want the result as well
  std::vector<std::uint32_t> gone;  // buffers that nobody else uses
  double saved_bytes = 0;           // that are neither loaded nor stored
};

/// How layers may share.
struct ShareRules {
  bool results = true;  // what one makes
  bool inputs = true;   // what several read
};

/// Of the layers `first` to `last`; nothing if one reads what another makes and cannot have it in
/// SRAM, or if they fall into parts that share nothing.
std::optional<Links> find_links(const Plan&, const std::vector<BufferUses>&, std::size_t first,
                                std::size_t last, ShareRules);

}  // namespace longshore::plan
