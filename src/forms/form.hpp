// A form is one way in which an NPU runs a kind of operator: what limits it, which tiles it may be
// cut into, what they cost and which instructions they are. One file of src/forms defines one form;
// place, plan and lower walk the registry and know none by name. docs/extending.md adds one.
#pragma once
#include <functional>

#include "base/list.hpp"
#include "forms/reasons.hpp"
#include "forms/support/geometry.hpp"
#include "forms/support/transfer.hpp"
#include "ir/op.hpp"
#include "program/instruction.hpp"

namespace longshore::forms {

struct FormDef;

/// A node as its form sees it. The extents are those that a layer walks: of the whole values, or of
/// a part where the node is done part by part.
struct FormNode {
  const Graph& graph;
  const Node& node;
  const FormSpec& spec;
  Extent in = {}, out = {};

  ValueId input(int role) const {
    return role < 0 ? no_value : node.input(static_cast<std::size_t>(role));
  }
  ValueId data() const { return input(spec.data); }
  ValueId result() const { return node.output(static_cast<std::size_t>(spec.result)); }
  const TensorType& type(ValueId v) const { return graph[v].type; }
  std::int64_t element_bytes(ValueId v) const {
    return static_cast<std::int64_t>(size_bytes(graph[v].type.dtype));
  }
};

/// Something that a tile needs in SRAM.
struct Operand {
  enum class Source : std::uint8_t {
    value,   // a box of the node's input `input`, loaded by DMA from wherever that lies
    inside,  // the same, but the form loads it itself into its result (copies, pads)
    packed,  // bytes that the form packs once into the constants and fetches by parts (weights)
    made,    // bytes that the form makes for this tile (tables, indices)
  };
  Source source = Source::value;
  int input = -1;  // of the node: value and inside
  /// Dims are aligned with those of the result as numpy does; axes of 1 are broadcast.
  bool broadcast = false;
  /// Computed weights, one matrix for all, one for each batch (rank 3) or one for each row of the
  /// walk (rank 4: attention's heads). Rows of the tile are output channels, channels are inputs.
  bool matrix = false;
  bool operator==(const Operand&) const = default;
};

/// How the result of a layer is cut.
struct Tiling {
  std::int64_t rows = 1, columns = 1, channels = 1;
  std::int64_t in_channels = 1;  // sums_channels: input channels of one turn; else as channels
  bool weights_outer = false;    // sums_channels: walk all pixels for one block of output channels
  bool operator==(const Tiling&) const = default;
};

/// Which tiles a form may be cut into, for the search.
struct TileRules {
  std::int64_t channel_grain = 1;  // preferred multiple of output channels
  std::int64_t input_grain = 1;    // and of input channels, where they are summed apart
  bool whole_channels = false;     // a tile has all of them, whatever its size
  bool sums_channels = false;      // turns over blocks of input channels (matrix products)
  bool single_rows = false;        // a tile is one row at most: each has weights of its own
  bool sums_pixels = false;        // turns over tiles of input pixels (means); rows and columns of
                                   // the tiling are those of the input
};

/// One piece of a packed operand on its way to SRAM: offsets into the packed bytes and into the
/// operand's slot.
struct Fetch {
  std::uint64_t from = 0;
  std::uint32_t to = 0;
  std::vector<TransferLoop> loops;
  std::int64_t run = 0;
};

/// One turn of one tile. Addresses are bytes of the core's SRAM.
struct TileTask {
  /// Bytes between rows and pixels of a tile that is a part of a larger one; 0: it is by itself.
  struct Strides {
    std::uint32_t row = 0, pixel = 0;
    bool operator==(const Strides&) const = default;
  };
  struct Place {
    std::uint32_t address = 0;
    bool filled = false;  // the operand is there already: nothing is loaded
    Strides strides = {};
    bool operator==(const Place&) const = default;
  };
  /// More than the task's own boxes: what other tasks will find there.
  struct Load {
    std::size_t operand = 0;  // of all stages
    Box box;                  // in the operand's coordinates
    Place to;
    bool operator==(const Load&) const = default;
  };
  std::uint32_t layer = 0;
  std::uint8_t core = 0;
  TileBox box;
  std::vector<Load> loads;             // before anything else
  std::vector<Place> operands;         // of all stages, one after the other
  std::vector<std::uint32_t> results;  // by stage
  Strides result_strides;              // of the last stage's
  std::uint32_t accumulators = 0;
  bool stored = true;            // the last stage's result goes to DRAM
  std::int64_t stored_from = 0;  // but for rows before this one
  bool operator==(const TileTask&) const = default;
};

/// What a form may do while it emits the instructions of one stage of one task.
class TileEmitter {
 public:
  virtual const Machine& machine() const = 0;
  /// Operand i of this stage: where it lies, its box and the extents of the whole.
  virtual Tile operand(std::size_t i) const = 0;
  virtual const Box& operand_box(std::size_t i) const = 0;
  virtual const Extent& operand_extent(std::size_t i) const = 0;
  /// Where this stage's result goes.
  virtual Tile result() const = 0;
  virtual std::uint32_t accumulators() const = 0;
  virtual void emit(Queue, Operation) = 0;
  /// Operand::Source::inside: a box of operand i (in its own coordinates) to `address`, with the
  /// strides of the result.
  virtual void load(std::size_t i, const Box&, std::uint32_t address) = 0;

 protected:
  ~TileEmitter() = default;
};

/// What the result of a node is made of, where no instruction runs for it.
enum class Shows : std::uint8_t {
  nothing,  // it is computed
  whole,    // the bytes of its input under other dims
  takes,    // elements of its input, at strides
  joins,    // its inputs one after the other: they are written into it
};

struct FormDef {
  std::string_view name, doc;
  /// A special case of that form, tried first for what `applies` to; else ordinary.
  std::string_view like = {};
  bool (*applies)(const FormNode&) = nullptr;
  /// Element types of the codes that it works on.
  List<DType> dtypes = {DType::i8};
  /// And those that only its data may have.
  List<DType> reads = {};
  bool follows = false;   // may work on a tile that another form made, before it leaves the SRAM
  bool leads = true;      // other forms may follow it
  bool rescales = false;  // gives a value another scale, whatever made it
  bool copies = false;    // carries a value to another place, whatever made it
  /// Null: Shows::nothing.
  Shows (*shows)(const FormSpec&) = nullptr;
  /// How its data and result must be walked, where that matters; null: it never does.
  std::optional<AxisOrder> (*order)(const FormNode&) = nullptr;
  /// Finds out the maps of the spec before planning; null: there are none.
  void (*prepare)(const Graph&, const Node&, FormSpec&) = nullptr;

  /// Every limit that the node breaks; types may be unknown. Dims, element types and scales of the
  /// operands are looked at before.
  void (*limits)(const FormNode&, const Unit&, Reasons&) = nullptr;
  /// In the order in which a tile loads them.
  std::vector<Operand> (*operands)(const FormSpec&) = nullptr;
  /// The box of an operand that a tile needs. Of packed and made operands: what tells one from
  /// another.
  Box (*reach)(const FormNode&, std::size_t operand, const TileBox&) = nullptr;
  TileRules (*rules)(const FormNode&, const Machine&) = nullptr;
  /// Bytes of SRAM that a packed or made operand takes; null: there is none.
  std::int64_t (*slot_bytes)(const FormNode&, std::size_t operand, const Tiling&,
                             const Machine&) = nullptr;
  /// Bytes of the sums of one tile between turns; null: there are no turns.
  std::int64_t (*accumulator_bytes)(const FormNode&, const Tiling&, const Machine&) = nullptr;
  /// Where its work is done, and the cycles of one turn of these sizes there, by sim/costs.hpp.
  Queue queue = Queue::vector;
  double (*cycles)(const FormNode&, const Tiling& turn, const Machine&) = nullptr;

  /// Source::packed: all bytes, and the pieces of them that a tile needs.
  std::vector<std::byte> (*pack)(const FormNode&, std::size_t operand, const Machine&) = nullptr;
  std::vector<Fetch> (*fetch)(const FormNode&, std::size_t operand, const TileBox&,
                              const Machine&) = nullptr;
  /// Source::made: the bytes for one tile.
  std::vector<std::byte> (*make)(const FormNode&, std::size_t operand, const TileBox&) = nullptr;
  void (*emit)(const FormNode&, const TileTask&, TileEmitter&) = nullptr;

  List<std::string_view> examples;  // graphs as text: built for every target that allows them
};

/// Generated from src/forms/*.cpp.
std::span<const FormDef* const> all();
/// The form of that name, or null.
const FormDef* find(std::string_view name);
/// Forms that may run the node, special cases first; empty: the CPU alone.
std::vector<const FormDef*> forms_of(const FormNode&);
/// The form that rescales, and the one that copies.
const FormDef& rescaling();
const FormDef& copying();

/// Every limit that keeps the node from running in this form on this unit: those of the spec, of
/// its operands and of the form.
void check_node(const FormDef&, const FormNode&, const Unit&, Reasons&);

/// Runs the node with input `walked` numbered 1, 2, 3, ... and returns the outputs: where its
/// elements went. Other data is -1, and borders that have no number of their own are 0.
std::vector<Tensor> trace(const Graph&, const Node&, std::size_t walked);

/// Bytes of a sum of such codes: int32, or int64 of 16-bit ones.
inline std::int64_t sum_bytes(DType codes) { return size_bytes(codes) == 1 ? 4 : 8; }

/// Scale, zero point and code range of a tensor as instructions carry them.
struct Codes {
  float scale = 1;
  std::int32_t zero = 0, lowest = -128, highest = 127;
};
Codes codes_of(const TensorType&);

}  // namespace longshore::forms
