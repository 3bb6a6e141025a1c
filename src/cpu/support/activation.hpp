#pragma once
#include <optional>

#include "cpu/bind.hpp"
#include "cpu/eltwise_f32.inner.hpp"

namespace longshore::cpu {

/// What a fused f32 kernel does to its results: a clamp in registers, or a function over each row
/// while it is in the cache.
struct Activation {
  bool clamp = false;
  float low = 0, high = 0;
  UnaryF32 function = nullptr;
  float p = 0, q = 0;

  void apply(float* row, std::size_t n) const noexcept {
    if (function) function(row, row, n, p, q);
  }
};

/// From the attributes activation, activation_params (or activation_alpha ...) of FusedConv and
/// FusedGemm; nothing if it is one that is not known.
std::optional<Activation> fused_activation(const BindRequest&);

}  // namespace longshore::cpu
