// Coordinates and weights of Resize: one axis at a time.
#pragma once
#include <cmath>

#include "ops/movement.hpp"

namespace longshore::ops {

/// The attributes of Resize as numbers.
struct ResizeMode {
  enum class Kind : std::uint8_t { nearest, linear, cubic } kind = Kind::nearest;
  enum class Where : std::uint8_t {
    half_pixel,
    half_pixel_symmetric,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    tf_crop_and_resize,
    tf_half_pixel_for_nn
  } where = Where::half_pixel;
  enum class Round : std::uint8_t {
    round_prefer_floor,
    round_prefer_ceil,
    floor,
    ceil
  } round = Round::round_prefer_floor;
  enum class Policy : std::uint8_t { stretch, not_larger, not_smaller } policy = Policy::stretch;
  bool antialias = false, exclude_outside = false;
  float cubic = -0.75f, extrapolation = 0;

  static Status from(const Attributes& a, ResizeMode& m) noexcept {
    const auto pick = [&](std::string_view attribute, std::initializer_list<std::string_view> names,
                          auto& out) -> Status {
      const std::string_view text = a.text(attribute, *names.begin());
      int i = 0;
      for (std::string_view name : names) {
        if (name == text) {
          out = static_cast<std::remove_reference_t<decltype(out)>>(i);
          return {};
        }
        i++;
      }
      return Status::error(Code::unsupported, "%s is '%.40s', which Resize does not know",
                           attribute.data(), text.data());
    };
    LONGSHORE_TRY(pick("mode", {"nearest", "linear", "cubic"}, m.kind));
    LONGSHORE_TRY(pick("coordinate_transformation_mode",
                       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                        "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                       m.where));
    LONGSHORE_TRY(pick("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                       m.round));
    LONGSHORE_TRY(
        pick("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}, m.policy));
    m.antialias = a.integer("antialias", 0) != 0;
    m.exclude_outside = a.integer("exclude_outside", 0) != 0;
    m.cubic = a.real("cubic_coeff_a", -0.75f);
    m.extrapolation = a.real("extrapolation_value", 0);
    return {};
  }
};

/// One axis: sizes, the scale as it was given (not out / in), and the part of the input that
/// tf_crop_and_resize shows.
struct ResizeAxis {
  std::int64_t in = 0, out = 0;
  float scale = 1, start = 0, end = 1;

  bool identity(const ResizeMode& m) const {
    return in == out && scale == 1 &&
           (m.where != ResizeMode::Where::tf_crop_and_resize || (start == 0 && end == 1));
  }

  /// Where output i lies in the input. In float32 and in this order, as ONNX Runtime computes it:
  /// other roundings would move ties to another pixel.
  float source(const ResizeMode& m, std::int64_t i) const {
    using Where = ResizeMode::Where;
    const auto x = static_cast<float>(i), n = static_cast<float>(in),
               length = static_cast<float>(out);
    switch (m.where) {
      case Where::half_pixel:
        return (x + 0.5f) / scale - 0.5f;
      case Where::half_pixel_symmetric: {
        const float adjustment = length / (scale * n), offset = n / 2 * (1 - adjustment);
        return offset + (x + 0.5f) / scale - 0.5f;
      }
      case Where::pytorch_half_pixel:
        return out > 1 ? (x + 0.5f) / scale - 0.5f : 0.0f;
      case Where::align_corners:
        return out > 1 ? x * (n - 1) / (length - 1) : 0.0f;
      case Where::asymmetric:
        return x / scale;
      case Where::tf_crop_and_resize:
        return out > 1 ? start * (n - 1) + x * (end - start) * (n - 1) / (length - 1)
                       : 0.5f * (start + end) * (n - 1);
      case Where::tf_half_pixel_for_nn:
        return (x + 0.5f) / scale;
    }
    return 0;
  }
};

/// The inputs that one output position of one axis reads, and their weights.
class ResizeTaps {
 public:
  void set(const ResizeMode& m, const ResizeAxis& axis, std::int64_t i) {
    mode_ = &m;
    in_ = axis.in;
    outside_ = false;
    if (axis.identity(m)) {
      first_ = i, count_ = 1, norm_ = 1, weights_[0] = 1;
      return;
    }
    const float x = axis.source(m, i);
    outside_ = m.where == ResizeMode::Where::tf_crop_and_resize &&
               (x < 0 || x > static_cast<float>(in_ - 1));
    if (m.kind == ResizeMode::Kind::nearest) {
      first_ = static_cast<std::int64_t>(nearest(m, x)), count_ = 1, norm_ = 1, weights_[0] = 1;
      return;
    }
    x_ = x;
    squeeze_ = m.antialias ? std::min(axis.scale, 1.0f) : 1.0f;
    const float reach = (m.kind == ResizeMode::Kind::linear ? 1.0f : 2.0f) / squeeze_;
    first_ = static_cast<std::int64_t>(std::floor(x - reach)) + 1;
    count_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(x + reach)) - first_);
    norm_ = 1;
    const bool stored = count_ <= static_cast<std::int64_t>(std::size(weights_));
    float sum = 0;
    for (std::int64_t k = 0; k < count_; k++) {
      const float w = kernel(k);
      if (stored) weights_[k] = w;
      sum += w;
    }
    if ((m.antialias || m.exclude_outside) && sum != 0) norm_ = sum;
  }
  /// True where tf_crop_and_resize looks beyond the input.
  bool outside() const { return outside_; }
  std::int64_t count() const { return count_; }
  /// The input of tap k; beyond the edge it is the edge.
  std::int64_t at(std::int64_t k) const { return std::clamp<std::int64_t>(first_ + k, 0, in_ - 1); }
  float weight(std::int64_t k) const {
    return (count_ <= static_cast<std::int64_t>(std::size(weights_)) ? weights_[k] : kernel(k)) /
           norm_;
  }

 private:
  static float nearest(const ResizeMode& m, float x) {
    switch (m.round) {
      case ResizeMode::Round::round_prefer_floor:
        return std::ceil(x - 0.5f);
      case ResizeMode::Round::round_prefer_ceil:
        return std::floor(x + 0.5f);
      case ResizeMode::Round::floor:
        return std::floor(x);
      case ResizeMode::Round::ceil:
        return std::ceil(x);
    }
    return x;
  }
  float kernel(std::int64_t k) const {
    if (mode_->exclude_outside && (first_ + k < 0 || first_ + k >= in_)) return 0;
    const float d = std::fabs((static_cast<float>(first_ + k) - x_) * squeeze_), a = mode_->cubic;
    if (mode_->kind == ResizeMode::Kind::linear) return d < 1 ? 1 - d : 0.0f;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0f;
  }

  const ResizeMode* mode_ = nullptr;
  std::int64_t in_ = 0, first_ = 0, count_ = 0;
  float x_ = 0, squeeze_ = 1, norm_ = 1, weights_[32] = {};
  bool outside_ = false;
};

}  // namespace longshore::ops
