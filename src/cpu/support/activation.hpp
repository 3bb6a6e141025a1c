#pragma once
#include <optional>

#include "cpu/bind.hpp"
#include "cpu/eltwise_f32.inner.hpp"
#include "tensor/activation.hpp"

namespace longshore::cpu {

/// An activation bound to the loops of this machine: a clamp in registers, or a function over each
/// row while it is in the cache.
struct BoundActivation {
  bool clamp = false;
  float low = 0, high = 0;
  UnaryF32 function = nullptr;
  float p = 0, q = 0;

  void apply(float* row, std::size_t n) const noexcept {
    if (function) function(row, row, n, p, q);
  }
};

/// The activation that the request's attributes name; nothing if it is none that is known.
std::optional<BoundActivation> bound_activation(const BindRequest&);

}  // namespace longshore::cpu
