#include "tensor/quant.hpp"

#include "tensor/requantise.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

using CodeTypes = TypeList<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                           Int4, UInt4, Int2, UInt2>;

Status check_quant(const QuantView& q, DType dtype, const Shape& shape) {
  if (!visit_type(CodeTypes{}, dtype, []<class T>() {}))
    return Status::error(Code::internal, "a quantised tensor cannot be of type %s",
                         name(dtype).data());
  if (q.count < 1 || !quant_fits(q, shape))
    return Status::error(Code::internal, "%lld scales do not fit the tensor",
                         static_cast<long long>(q.count));
  return {};
}

}  // namespace

CodeRange code_range(DType t) noexcept {
  switch (t) {
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::i16:
      return {-32768, 32767};
    case DType::u16:
      return {0, 65535};
    case DType::i4:
      return {-8, 7};
    case DType::u4:
      return {0, 15};
    case DType::i2:
      return {-2, 1};
    case DType::u2:
      return {0, 3};
    default:
      return {INT32_MIN, INT32_MAX};
  }
}

bool quant_fits(const QuantView& q, const Shape& shape) noexcept {
  if (q.block < 0) return false;
  if (q.count == 1 && q.block == 0) return true;
  if (q.axis < 0 || q.axis >= shape.rank) return false;
  std::int64_t wanted = 1;
  for (int i = 0; i < shape.rank; i++) {
    if (q.block == 0 && i != q.axis) continue;
    std::int64_t n = shape[i];
    if (n < 0) return true;
    if (q.block > 0 && i == q.axis) n = n == 0 ? 0 : (n - 1) / q.block + 1;
    if (__builtin_mul_overflow(wanted, n, &wanted)) return false;
  }
  return wanted == q.count;
}

std::int32_t load_code(const TensorView& t, std::int64_t i) noexcept {
  std::int32_t code = 0;
  visit_type(CodeTypes{}, t.dtype, [&]<class T>() { code = t.as<T>()[i]; });
  return code;
}

void store_code(const MutableView& t, std::int64_t i, std::int32_t code) noexcept {
  visit_type(CodeTypes{}, t.dtype, [&]<class T>() { t.as<T>()[i] = static_cast<T>(code); });
}

Status quantise_tensor(const TensorView& from, const MutableView& to) noexcept {
  LONGSHORE_TRY(check_quant(to.quant, to.dtype, to.shape));
  const CodeRange codes = code_range(to.dtype);  // clang 14 captures no structured bindings
  const float* x = from.as<float>();
  const std::int64_t n = to.elements();
  visit_type(CodeTypes{}, to.dtype, [&]<class T>() {
    T* y = to.as<T>();
    for (std::int64_t i = 0; i < n; i++) {
      const std::int64_t k = quant_index(to.quant, to.shape, i);
      y[i] = static_cast<T>(
          quantise(x[i], to.quant.scale[k], to.quant.zero_point[k], codes.lowest, codes.highest));
    }
  });
  return {};
}

Status dequantise_tensor(const TensorView& from, const MutableView& to) noexcept {
  LONGSHORE_TRY(check_quant(from.quant, from.dtype, from.shape));
  float* y = to.as<float>();
  const std::int64_t n = to.elements();
  visit_type(CodeTypes{}, from.dtype, [&]<class T>() {
    const T* x = from.as<T>();
    for (std::int64_t i = 0; i < n; i++) {
      const std::int64_t k = quant_index(from.quant, from.shape, i);
      y[i] = dequantise(x[i], from.quant.scale[k], from.quant.zero_point[k]);
    }
  });
  return {};
}

}  // namespace longshore
