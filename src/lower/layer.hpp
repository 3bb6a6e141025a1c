#pragma once
#include <array>

#include "program/instructions/conv.hpp"
#include "lower/cpu.hpp"
#include "lower/emitter.hpp"
#include "plan/dma.hpp"
#include "plan/shapes.hpp"

namespace longshore::lower {

/// A box of a tensor.
struct Box {
  std::int64_t n = 0;
  plan::Span h, w, c;
};

/// What a tap needs to know: where in the tap region a value's bytes go. Row-major.
struct TapPlace {
  std::uint64_t offset = 0;
  std::array<std::uint64_t, 4> stride{};
  bool present = false;
};

/// Slots of the plan with what they hold now, so that a tile that is still there is not loaded
/// again.
class SlotTurns {
 public:
  explicit SlotTurns(const plan::Slots& slots)
      : slots_(&slots), held_(slots.addresses.size()), used_(slots.addresses.size()) {}
  using Key = std::array<std::int64_t, 7>;
  /// The address for `key`; `fresh` tells whether the slot has to be filled.
  std::uint32_t take(const Key& key, bool& fresh);
  /// The next slot, whatever it held.
  std::uint32_t next();

 private:
  const plan::Slots* slots_;
  std::vector<std::optional<Key>> held_;
  std::vector<std::uint64_t> used_;
  std::uint64_t time_ = 0;
};

/// What the lowering of every form needs while it walks the tiles of one layer.
class LayerEmitter {
 public:
  LayerEmitter(Emitter&, const plan::Plan&, const plan::Layer&, ConstantPool&,
               const std::vector<TapPlace>& taps, std::uint32_t layer);

  const plan::Plan& plan() const { return plan_; }
  const Graph& graph() const { return plan_.placement.graph; }
  const plan::Layer& layer() const { return l_; }
  const Node& head() const { return graph().nodes[l_.head()]; }
  const Machine& machine() const { return plan_.placement.target.machine; }
  ConstantPool& pool() { return pool_; }
  Rounding rounding() const { return graph().numbers; }

  /// Element (n, h, w, c) of a view: its memory and address.
  std::pair<Dram, std::uint64_t> address(const plan::View&, std::int64_t n, std::int64_t h,
                                         std::int64_t w, std::int64_t c);
  /// A box of DRAM into a tile.
  void load(const plan::View&, const Box&, std::uint32_t sram, const plan::TileShape&);
  /// `bytes` of the constants at `offset` to SRAM.
  void load_constants(std::uint64_t offset, std::int64_t bytes, std::uint32_t sram);
  void emit(Queue, Operation);
  Tile tile(std::uint32_t sram, const plan::TileShape&) const;

  /// The slot where the head's output tile goes.
  std::uint32_t head_out() { return out_turns_[0].next(); }
  /// Taps the head's tile, runs the fused stages behind it and stores the result. `box` is in the
  /// output's coordinates.
  void finish_tile(const Box& box, std::uint32_t sram, const plan::TileShape&);

  /// Loads the head's input tile, or finds it in SRAM. The box is clamped to the input.
  std::uint32_t input(const Box&, const plan::TileShape&);
  /// The tile of an eltwise stage's other operand; sets its strides for broadcasting.
  Tile side(std::size_t stage, const Box& out, std::uint32_t& channel_stride);
  /// A stage's 256 bytes, loaded once.
  std::uint32_t table(std::size_t stage);
  SlotTurns& parameter_turns(std::size_t stage) { return parameter_turns_[stage]; }
  SlotTurns& weight_turns() { return weight_turns_; }
  std::uint32_t accumulators() const {
    return l_.accumulators.addresses.empty() ? 0 : l_.accumulators.addresses[0];
  }

  const TensorType& input_type() const;
  const TensorType& output_type(std::size_t stage) const;

 private:
  void tap(std::size_t stage, const Box&, std::uint32_t sram, const plan::TileShape&);

  Emitter& emitter_;
  const plan::Plan& plan_;
  const plan::Layer& l_;
  ConstantPool& pool_;
  const std::vector<TapPlace>& taps_;
  std::uint32_t layer_;
  SlotTurns in_turns_, weight_turns_;
  std::vector<SlotTurns> out_turns_, side_turns_, parameter_turns_;
  std::map<std::size_t, std::uint64_t> table_offsets_;
};

/// Scale, zero point and code range of a tensor as instructions carry them.
struct Codes {
  float scale = 1;
  std::int32_t zero = 0, lowest = -128, highest = 127;
};
Codes codes_of(const TensorType&);

/// One function per form: walks the tiles of a layer whose head has that form.
void lower_mac(LayerEmitter&);
void lower_depthwise(LayerEmitter&);
void lower_reduce(LayerEmitter&);
/// Everything else: a tile in, one vector operation (or none, for moves), a tile out.
void lower_tiles(LayerEmitter&);

/// What the mac forms share.
struct MacEpilogue {
  Codes in, out;  // out is narrowed by the fused activation
  std::vector<ChannelParameters> parameters;
};
MacEpilogue mac_epilogue(const Graph&, const Node&);

/// The operation of a stage on one tile, by form.
Operation eltwise_operation(LayerEmitter&, std::size_t stage, Tile chain, Tile side,
                            std::uint32_t side_channel_stride, Tile out, const plan::TileShape&);
Operation table_operation(LayerEmitter&, std::size_t stage, Tile in, Tile out,
                          const plan::TileShape&);
Operation requantise_operation(LayerEmitter&, std::size_t stage, Tile in, Tile out,
                               const plan::TileShape&);
Operation pool_operation(LayerEmitter&, Tile in, const plan::TileShape& in_shape, Tile out,
                         const plan::TileShape&, const plan::Reach& rows,
                         const plan::Reach& columns);
Operation resize_operation(LayerEmitter&, Tile in, const plan::TileShape& in_shape, Tile out,
                           const plan::TileShape&, const Box& box, const plan::Reach& rows,
                           const plan::Reach& columns);
/// The 256 output codes of an element-wise unary node, by the reference.
std::vector<std::int8_t> table_of(const Graph&, const Node&);

}  // namespace longshore::lower
