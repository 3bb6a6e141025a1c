#include "ir/type.hpp"

#include <utility>

namespace longshore {

TensorType::TensorType(DType d, Dims dimensions) : dtype(d), dims(std::move(dimensions)) {}
TensorType::TensorType(DType d, const Shape& shape) : dtype(d), dims(shape.begin(), shape.end()) {}

TensorType TensorType::unranked(DType d) {
  TensorType t;
  t.dtype = d;
  t.ranked = false;
  return t;
}

std::optional<Shape> TensorType::shape() const {
  if (!ranked || rank() > max_rank) return {};
  Shape s;
  for (const Dim& d : dims) {
    if (!d.known()) return {};
    s.push(d.value);
  }
  return s;
}

}  // namespace longshore
