#include "quantize/scale.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/error.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore {
namespace {

/// A bias may take half of int32, the products the other half.
constexpr double half_of_int32 = 1073741824.0;

/// Codes of weights lie in [-largest, largest].
struct WeightCodes {
  std::int32_t largest;
  std::int32_t operator()(float w, float scale) const {
    return quantise(w, scale, 0, -largest, largest);
  }
};

/// The scale with the smallest squared error among shrunken ones.
float least_error_scale(std::span<const float> w, float full, WeightCodes code) {
  float best = full;
  double least = DBL_MAX;
  for (int k = 0; k < 40; k++) {
    const float scale = full * (1 - 0.01f * static_cast<float>(k));
    double sum = 0;
    for (float x : w) {
      const double e =
          static_cast<double>(x) - static_cast<double>(dequantise(code(x, scale), scale, 0));
      sum += e * e;
    }
    if (sum < least) least = sum, best = scale;
  }
  return best;
}

/// The elements of one channel, in order.
std::vector<float> channel(std::span<const float> values, const Shape& shape, int axis,
                           std::int64_t c) {
  if (axis < 0) return {values.begin(), values.end()};
  const std::int64_t inner = shape.product(axis + 1, shape.rank), count = shape[axis];
  std::vector<float> out;
  for (std::int64_t i = c * inner; i < shape.elements(); i += count * inner)
    out.insert(out.end(), values.begin() + i, values.begin() + i + inner);
  return out;
}

}  // namespace

ScaleAndZero asymmetric_scale(Range range, DType dtype) {
  const CodeRange codes = code_range(dtype);
  const double low = std::min(range.lowest, 0.0f), high = std::max(range.highest, 0.0f);
  const auto scale =
      static_cast<float>((high - low) / (static_cast<double>(codes.highest) - codes.lowest));
  if (!(scale >= FLT_MIN) || !std::isfinite(scale)) return {1, 0};
  const double zero = std::nearbyint(codes.lowest - low / scale);
  return {scale, static_cast<std::int32_t>(std::clamp<double>(zero, codes.lowest, codes.highest))};
}

ScaleAndZero activation_scale(Range range, DType dtype) {
  return size_bytes(dtype) == 1 ? asymmetric_scale(range, dtype) : symmetric_scale(range, dtype);
}

ScaleAndZero symmetric_scale(Range range, DType dtype) {
  const float largest = std::max(std::abs(range.lowest), std::abs(range.highest));
  const float scale = largest / static_cast<float>(code_range(dtype).highest);
  if (!(scale >= FLT_MIN) || !std::isfinite(scale)) return {1, 0};
  return {scale, 0};
}

ScaleAndZero known_range_scale(Range range, DType dtype) {
  if (size_bytes(dtype) > 1 && (range == Range{0, 1} || range == Range{-1, 1}))
    return {1 / (static_cast<float>(code_range(dtype).highest) + 1), 0};
  const CodeRange codes = code_range(dtype);
  const float levels = static_cast<float>(codes.highest) - static_cast<float>(codes.lowest) + 1;
  if (range == Range{0, 1}) return {1 / levels, codes.lowest};
  if (range == Range{-1, 1})
    return {2 / levels, codes.lowest + static_cast<std::int32_t>(levels / 2)};
  return activation_scale(range, dtype);
}

QuantisedLayer quantise_layer(const Tensor& weights, int axis, const Tensor* bias, ScaleAndZero x,
                              DType x_dtype, bool least_error, DType w_dtype) {
  const WeightCodes weight_code{code_range(w_dtype).highest};
  const auto largest_weight = static_cast<float>(weight_code.largest);
  const bool wide = size_bytes(x_dtype) > 1 || size_bytes(w_dtype) > 1;  // sums are int64
  const Shape& shape = weights.shape;
  const std::int64_t channels = axis < 0 ? 1 : shape[axis];
  const std::int64_t biases = bias ? bias->elements() : 0;
  check(!bias || biases == channels || axis < 0, "a bias has one element for each output channel");
  const CodeRange codes = code_range(x_dtype);
  const double largest_x = std::max(std::abs(static_cast<double>(codes.lowest) - x.zero_point),
                                    std::abs(static_cast<double>(codes.highest) - x.zero_point));
  QuantisedLayer out;
  std::vector<std::int32_t> b_codes(static_cast<std::size_t>(biases));
  float widest = 0;  // for channels without weights
  const auto values = weights.values<float>();
  for (float w : values) widest = std::max(widest, std::abs(w));
  for (std::int64_t c = 0; c < channels; c++) {
    const std::vector<float> w = channel(values, shape, axis, c);
    float largest = 0, largest_bias = 0;
    for (float each : w) largest = std::max(largest, std::abs(each));
    for (std::int64_t b = 0; b < biases; b++)
      if (axis < 0 || b == c)
        largest_bias =
            std::max(largest_bias, std::abs(bias->values<float>()[static_cast<std::size_t>(b)]));
    float scale = largest / largest_weight;
    if (!(scale >= FLT_MIN))
      scale = widest >= FLT_MIN * largest_weight ? widest / largest_weight : 1;
    else if (least_error)
      scale = least_error_scale(w, scale, weight_code);
    // docs/quantize.md: |bias| must fit, else its clipping costs more than coarser weights.
    const double least =
        static_cast<double>(largest_bias) / (static_cast<double>(x.scale) * half_of_int32);
    bool grown = false;
    if (static_cast<double>(scale) < least * 1.0001)
      scale = static_cast<float>(least * 1.0001), grown = true;
    const auto sum = [&] {
      double s = 0;
      for (float each : w) s += std::abs(weight_code(each, scale));
      return s * largest_x;
    };
    while (!wide && sum() > half_of_int32) scale *= 2, grown = true;
    out.enlarged += grown ? 1 : 0;
    out.scales.push_back(scale);
    out.bias_scales.push_back(x.scale * scale);
  }
  const std::int64_t inner = axis < 0 ? shape.elements() : shape.product(axis + 1, shape.rank);
  std::vector<std::byte> w_codes(static_cast<std::size_t>(shape.elements()) * size_bytes(w_dtype));
  for (std::int64_t i = 0; i < shape.elements(); i++) {
    const std::int64_t c = axis < 0 ? 0 : i / inner % channels;
    store_code(
        {w_dtype, shape, w_codes.data(), {}}, i,
        weight_code(values[static_cast<std::size_t>(i)], out.scales[static_cast<std::size_t>(c)]));
  }
  for (std::size_t b = 0; b < b_codes.size(); b++)
    b_codes[b] = quantise(bias->values<float>()[b], out.bias_scales[axis < 0 ? 0 : b], 0, INT32_MIN,
                          INT32_MAX);
  out.weights = {w_dtype, shape, make_blob(std::move(w_codes))};
  if (bias) out.bias = make_tensor<std::int32_t>(DType::i32, bias->shape, b_codes);
  return out;
}

std::vector<double> mean_shortfall(const Tensor& weights, const QuantisedLayer& layer,
                                   std::int64_t groups, std::span<const double> mean,
                                   std::span<const double> coded_mean) {
  const Shape& shape = weights.shape;
  const std::int64_t out_channels = shape[0], in_channels = shape[1],
                     taps = shape.product(2, shape.rank);
  std::vector<double> out(static_cast<std::size_t>(out_channels));
  if (groups < 1 || out_channels % groups != 0 ||
      static_cast<std::int64_t>(mean.size()) != in_channels * groups)
    return out;
  const auto w = weights.values<float>();
  const TensorView q = layer.weights.view();
  std::int64_t i = 0;
  for (std::int64_t o = 0; o < out_channels; o++) {
    const double scale = layer.scales[layer.scales.size() == 1 ? 0 : static_cast<std::size_t>(o)];
    for (std::int64_t c = 0; c < in_channels; c++) {
      const auto k = static_cast<std::size_t>(o / (out_channels / groups) * in_channels + c);
      double real = 0, coded = 0;
      for (std::int64_t t = 0; t < taps; t++, i++) {
        real += static_cast<double>(w[static_cast<std::size_t>(i)]);
        coded += load_code(q, i);
      }
      out[static_cast<std::size_t>(o)] += real * mean[k] - coded * scale * coded_mean[k];
    }
  }
  return out;
}

void correct_bias(QuantisedLayer& layer, const Tensor* bias, std::span<const double> shortfall) {
  std::vector<std::int32_t> codes(shortfall.size());
  for (std::size_t c = 0; c < codes.size(); c++) {
    const double real = (bias ? static_cast<double>(bias->values<float>()[c]) : 0) + shortfall[c];
    const double code = std::nearbyint(
        real / static_cast<double>(layer.bias_scales[layer.bias_scales.size() == 1 ? 0 : c]));
    codes[c] = static_cast<std::int32_t>(std::clamp(code, -half_of_int32, half_of_int32));
  }
  layer.bias =
      make_tensor<std::int32_t>(DType::i32, Shape{static_cast<std::int64_t>(codes.size())}, codes);
}

}  // namespace longshore
