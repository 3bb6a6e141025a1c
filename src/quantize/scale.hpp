// From ranges and weights to scales, zero points and codes. docs/quantize.md explains the choices.
#pragma once
#include "quantize/statistics.hpp"
#include "tensor/dtype.hpp"
#include "tensor/tensor.hpp"

namespace longshore {

struct ScaleAndZero {
  float scale = 1;
  std::int32_t zero_point = 0;
  bool operator==(const ScaleAndZero&) const = default;
};

/// All codes of `dtype` spread over the range, with zero exactly on a code. A range too narrow for
/// a float scale gives scale 1, zero point 0.
ScaleAndZero asymmetric_scale(Range, DType);

/// How activations are coded: asymmetric in 8 bits; in 16 bits around zero point 0, so that
/// products need no sums of weights.
ScaleAndZero activation_scale(Range, DType);

/// All codes but the lowest spread evenly around zero, zero point 0, as far as the range reaches.
ScaleAndZero symmetric_scale(Range, DType);

/// For a range that an operator's definition gives: [0, 1] is 1/256 from the lowest code, [-1, 1]
/// is 1/128 around the middle, both 1/32768 in 16 bits; others as activation_scale.
ScaleAndZero known_range_scale(Range, DType);

/// Weights with a scale per index of an axis, zero point 0, the lowest code unused, and the i32
/// bias with scale scale_x * scale_w.
struct QuantisedLayer {
  Tensor weights, bias;  // bias absent where there was none
  std::vector<float> scales, bias_scales;
  int enlarged = 0;  // channels whose weight scale grew so that bias and sums fit in int32
};

/// `axis` < 0: one scale for all. `least_error`: each scale minimises the squared error of its
/// weights instead of reaching the largest one.
QuantisedLayer quantise_layer(const Tensor& weights, int axis, const Tensor* bias, ScaleAndZero x,
                              DType x_dtype, bool least_error, DType w_dtype = DType::i8);

/// By how much the mean of each output channel falls short once weights and input are codes:
/// sum of w E[x] - w' E[x'], for weights [channels, inputs / groups, ...] with channels on axis 0,
/// their quantised form, and the means of each input channel before and after quantisation.
std::vector<double> mean_shortfall(const Tensor& weights, const QuantisedLayer&,
                                   std::int64_t groups, std::span<const double> mean,
                                   std::span<const double> coded_mean);

/// The layer with `shortfall` added to its real bias; makes a bias where there was none.
void correct_bias(QuantisedLayer&, const Tensor* bias, std::span<const double> shortfall);

}  // namespace longshore
