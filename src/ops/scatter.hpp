// What the scatter operators share: how an update meets the element that is there.
#pragma once
#include "ops/movement.hpp"

namespace longshore::ops {

/// Combines `count` elements: to[i] = to[i] op from[i].
using Combine = void (*)(std::byte* to, const std::byte* from, std::int64_t count);

enum class ScatterReduction : std::uint8_t { none, add, mul, max, min };

template <class T, ScatterReduction reduction>
void combine(std::byte* to, const std::byte* from, std::int64_t count) {
  T* y = reinterpret_cast<T*>(to);
  const T* x = reinterpret_cast<const T*>(from);
  using A =
      std::conditional_t<std::is_integral_v<T>, std::uint64_t, Compute<T>>;  // integers wrap around
  for (std::int64_t i = 0; i < count; i++) {
    if constexpr (reduction == ScatterReduction::add)
      y[i] = static_cast<T>(static_cast<A>(y[i]) + static_cast<A>(x[i]));
    if constexpr (reduction == ScatterReduction::mul)
      y[i] = static_cast<T>(static_cast<A>(y[i]) * static_cast<A>(x[i]));
    if constexpr (reduction == ScatterReduction::max)
      y[i] = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i];
    if constexpr (reduction == ScatterReduction::min)
      y[i] = x[i] < y[i] || x[i] != x[i] ? x[i] : y[i];
  }
}

inline Status reduction_of(const Attributes& a, ScatterReduction& out) noexcept {
  const std::string_view text = a.text("reduction", "none");
  constexpr std::string_view names[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; i < 5; i++)
    if (names[i] == text) {
      out = static_cast<ScatterReduction>(i);
      return {};
    }
  return Status::error(Code::unsupported, "reduction '%.30s'; it may be none, add, mul, max or min",
                       text.data());
}

/// The function for a reduction; null for none, which copies bytes.
inline Status combine_for(const Attributes& a, DType dtype, Combine& out) noexcept {
  ScatterReduction reduction{};
  LONGSHORE_TRY(reduction_of(a, reduction));
  out = nullptr;
  if (reduction == ScatterReduction::none) return {};
  const bool known = visit_type(NumberTypes{}, dtype, [&]<class T>() {
    constexpr Combine table[] = {
        nullptr, combine<T, ScatterReduction::add>, combine<T, ScatterReduction::mul>,
        combine<T, ScatterReduction::max>, combine<T, ScatterReduction::min>};
    out = table[static_cast<int>(reduction)];
  });
  return known ? Status{}
               : Status::error(Code::unsupported, "a reduction of element type %s",
                               name(dtype).data());
}

/// Copies or combines `count` elements of `size` bytes.
inline void put(Combine combine, std::byte* to, const std::byte* from, std::int64_t count,
                std::size_t size) {
  if (combine)
    combine(to, from, count);
  else if (count > 0)
    std::memcpy(to, from, static_cast<std::size_t>(count) * size);
}

/// Output 0 begins as a copy of input 0.
inline Status start_from_data(EvalContext& c, MutableView& y) noexcept {
  const TensorView &x = c.input(0), &updates = c.input(2);
  if (updates.dtype != x.dtype)
    return Status::error(Code::bad_argument, "data and updates differ in type");
  LONGSHORE_TRY(c.output(0, x.shape, y));
  if (x.bytes() > 0) std::memcpy(y.data, x.data, x.bytes());
  return {};
}

}  // namespace longshore::ops
