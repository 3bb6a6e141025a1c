#pragma once
#include <string>
#include <vector>

#include "lower/lower.hpp"
#include "program/region.hpp"
#include "program/access.hpp"
#include "program/instructions/dma.hpp"
#include "sim/schedule.hpp"

namespace longshore::debug {

/// A box of a tensor in SRAM, and which instructions of the shipped program write it.
struct Piece {
  std::uint32_t tensor = 0;  // into the list of tensors
  Instruction store;         // a dma: its SRAM side, and bytes of the row-major tensor
  std::vector<Effect> writers;
};

/// A tensor whose bytes the session follows, row-major.
struct Followed {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  Quantisation quantisation;
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(shape.elements()) * size_bytes(dtype);
  }
};

struct Pieces {
  std::vector<Followed> tensors;
  std::vector<Piece> pieces;
};

/// What the tap variant says of tiles: each tap is a piece, its writers found by running the
/// variant's order over the bytes that instructions write.
Pieces pieces_of(const lower::Tapped&, const Graph&);

/// "[0:1,0:8,4:8,0:16]": the smallest box of the row-major dims that holds all runs of the region,
/// whose addresses count from the tensor's first byte.
std::string box_of(const Region&, const Shape&, std::uint64_t element_bytes);

}  // namespace longshore::debug
