#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/blob.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace longshore {

/// Scale and zero point of a quantised tensor: x = scale * (q - zero_point). `count` is 1 for the
/// whole tensor, or the size of `axis`; 0 means that the tensor is not quantised. With a block, the
/// scales lie like a tensor whose `axis` has one element for each run of `block` indices.
struct QuantView {
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  std::int64_t count = 0;
  int axis = 0;
  std::int64_t block = 0;  // 0: each index of the axis has a scale

  /// One scale for each index of that axis.
  bool along(int other) const noexcept { return count > 1 && block == 0 && axis == other; }
};

/// A look at a dense row-major tensor. data == nullptr: an absent optional input. A tensor without
/// elements is present and has some non-null address.
struct TensorView {
  DType dtype = DType::undefined;
  Shape shape;
  const void* data = nullptr;
  QuantView quant;

  bool present() const noexcept { return data != nullptr; }
  std::int64_t elements() const noexcept { return shape.elements(); }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_bytes(dtype);
  }
  template <class T>
  const T* as() const noexcept {
    return static_cast<const T*>(data);
  }
};

/// The same, to write into.
struct MutableView {
  DType dtype = DType::undefined;
  Shape shape;
  void* data = nullptr;
  QuantView quant;

  std::int64_t elements() const noexcept { return shape.elements(); }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_bytes(dtype);
  }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
  operator TensorView() const noexcept {  // NOLINT(google-explicit-constructor)
    return {dtype, shape, data, quant};
  }
};

/// A tensor that owns (a share of) immutable bytes: constants, inputs, outputs.
struct Tensor {
  DType dtype = DType::undefined;
  Shape shape;
  SharedBlob blob;

  bool present() const noexcept { return blob != nullptr; }
  std::int64_t elements() const noexcept { return shape.elements(); }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_bytes(dtype);
  }
  TensorView view() const noexcept;
  template <class T>
  std::span<const T> values() const noexcept {
    return {reinterpret_cast<const T*>(blob->bytes().data()), static_cast<std::size_t>(elements())};
  }
  /// Same type, dims and bytes.
  bool operator==(const Tensor&) const noexcept;
};

/// Copies `values` (their number must be shape.elements()).
template <class T>
Tensor make_tensor(DType dtype, const Shape& shape, std::span<const T> values) {
  return {dtype, shape, copy_blob(values.data(), values.size_bytes())};
}
Tensor make_ints(std::span<const std::int64_t> values);  // i64, rank 1
Tensor make_int(std::int64_t value);                     // i64, rank 0
Tensor make_floats(const Shape&, std::span<const float> values);
Tensor copy_tensor(const TensorView&);

}  // namespace longshore
