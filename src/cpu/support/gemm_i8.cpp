#include "cpu/support/gemm_i8.hpp"

#include <algorithm>

#include "tensor/activation.hpp"
#include "tensor/quant.hpp"

namespace longshore::cpu {
namespace {

bool byte(DType t) { return t == DType::i8 || t == DType::u8; }

}  // namespace

void Epilogue::row(const Requantise& f, const std::int32_t* sums, std::int64_t channel,
                   std::int64_t n, void* codes) const noexcept {
  const auto m = static_cast<std::size_t>(channel);
  if (mode == Rounding::f32_even)
    return f.row({sums, adds.data() + m, reals.data() + m, 0, zero_point, lowest, highest, codes,
                  static_cast<std::size_t>(n)});
  for (std::int64_t i = 0; i < n; i++) {
    const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                               static_cast<std::uint32_t>(adds[m]));
    static_cast<std::uint8_t*>(codes)[i] = static_cast<std::uint8_t>(
        requantise(sum, multipliers[m], zero_point, lowest, highest, mode));
  }
}

void Epilogue::across(const Requantise& f, const std::int32_t* sums, std::int64_t channel,
                      std::int64_t n, void* codes) const noexcept {
  const auto m = static_cast<std::size_t>(channel);
  if (mode == Rounding::f32_even)
    return f.row({sums, adds.data() + m, reals.data() + m, 1, zero_point, lowest, highest, codes,
                  static_cast<std::size_t>(n)});
  for (std::int64_t i = 0; i < n; i++)
    row(f, sums + i, channel + i, 1, static_cast<std::uint8_t*>(codes) + i);
}

bool make_epilogue(const BindRequest& r, std::int64_t channels, int weight_axis, Epilogue& e) {
  const Operand &x = r.input(0), &w = r.input(1), &bias = r.input(2), &y = r.output();
  if (!byte(x.dtype) || w.dtype != DType::i8 || !byte(y.dtype) || !w.constant) return false;
  if (x.quant.count != 1 || y.quant.count != 1 || r.input(3).present()) return false;
  if (!(w.quant.count == 1 || (w.quant.count == channels && w.quant.along(weight_axis))))
    return false;
  for (std::int64_t i = 0; i < w.quant.count; i++)
    if (w.quant.zero_point[i] != 0) return false;
  if (bias.present() &&
      (bias.dtype != DType::i32 || !bias.constant || bias.shape.elements() != channels))
    return false;
  const CodeRange range = code_range(y.dtype);
  e.lowest = range.lowest;
  e.highest = range.highest;
  e.zero_point = y.quant.zero_point[0];
  e.mode = r.rounding;
  Activation activation;
  if (!Activation::from(r.attributes, activation).ok() || !activation.narrows()) return false;
  activation.narrow(y.quant.scale[0], e.zero_point, e.lowest, e.highest);
  for (std::int64_t m = 0; m < channels; m++) {
    e.multipliers.push_back(make_multiplier(
        x.quant.scale[0], w.quant.scale[w.quant.count == 1 ? 0 : m], y.quant.scale[0]));
    e.reals.push_back(e.multipliers.back().real);
    e.adds.push_back(bias.present() ? static_cast<const std::int32_t*>(bias.constant)[m] : 0);
  }
  return true;
}

ActivationForm activation_form(const GemmI8& f, const Operand& x) {
  ActivationForm form;
  form.is_signed = x.dtype == DType::i8;
  const std::int32_t zero = x.quant.zero_point[0];
  form.padding = static_cast<std::uint8_t>(zero);
  if (f.bytes == 1) {
    form.flip = form.is_signed ? 0x80 : 0;  // code xor 128, read as u8, is code + 128
    form.offset = zero + (form.is_signed ? 128 : 0);
  } else {
    form.zero = static_cast<std::int16_t>(zero);
  }
  return form;
}

}  // namespace longshore::cpu
