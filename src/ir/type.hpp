#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tensor/quant.hpp"

namespace longshore {

/// A number (value >= 0), a named symbol, or unknown. There are no expressions: a graph is
/// specialised by giving symbols numbers and inferring anew.
struct Dim {
  std::int64_t value = -1;
  std::string symbol;

  Dim() = default;
  Dim(std::int64_t number) : value(number) {}  // NOLINT(google-explicit-constructor)
  static Dim named(std::string symbol) {
    Dim d;
    d.symbol = std::move(symbol);
    return d;
  }
  bool known() const { return value >= 0; }
  /// Surely the same number at run time.
  bool same(const Dim& other) const {
    return known() ? value == other.value
                   : !symbol.empty() && !other.known() && symbol == other.symbol;
  }
  bool operator==(const Dim&) const = default;
};
using Dims = std::vector<Dim>;

/// What is known of a value before the graph runs. dtype undefined: not known at all.
struct TensorType {
  DType dtype = DType::undefined;
  bool ranked = true;  // false: even the rank is unknown (dims is empty)
  Dims dims;
  Quantisation quant;

  TensorType() = default;
  TensorType(DType, Dims);
  TensorType(DType, const Shape&);
  static TensorType unranked(DType);

  int rank() const { return static_cast<int>(dims.size()); }
  /// All dimensions, if all are known.
  std::optional<Shape> shape() const;
  bool quantised() const { return quant.present(); }
  bool operator==(const TensorType&) const = default;
};

}  // namespace longshore
