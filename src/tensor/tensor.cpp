#include "tensor/tensor.hpp"

namespace longshore {

namespace {
constexpr std::byte nothing[1] = {};
}

TensorView Tensor::view() const noexcept {
  if (!blob) return {};
  const void* data = blob->bytes().data();
  return {dtype, shape, data ? data : nothing, {}};
}

bool Tensor::operator==(const Tensor& other) const noexcept {
  if (dtype != other.dtype || !(shape == other.shape) || present() != other.present()) return false;
  if (!blob || blob == other.blob) return true;
  const std::size_t size = bytes();  // a blob may be longer than its tensor
  return size <= blob->size() && size <= other.blob->size() &&
         (size == 0 || std::memcmp(blob->bytes().data(), other.blob->bytes().data(), size) == 0);
}

Tensor make_ints(std::span<const std::int64_t> values) {
  return make_tensor(DType::i64, Shape{static_cast<std::int64_t>(values.size())}, values);
}
Tensor make_int(std::int64_t value) {
  return make_tensor<std::int64_t>(DType::i64, Shape{}, std::span(&value, 1));
}
Tensor make_floats(const Shape& shape, std::span<const float> values) {
  return make_tensor(DType::f32, shape, values);
}
Tensor copy_tensor(const TensorView& view) {
  return {view.dtype, view.shape, copy_blob(view.data, view.bytes())};
}

}  // namespace longshore
