#pragma once
#include <cstdint>

#include "tensor/dtype.hpp"
#include "tensor/small_float.hpp"

namespace longshore {

template <class T>
struct DTypeOf;
template <DType d, class T>
struct Bind {
  using Type = T;
  static constexpr DType dtype = d;
};
#define LONGSHORE_BIND(d, T) \
  template <>                \
  struct DTypeOf<T> : Bind<DType::d, T> {};
LONGSHORE_BIND(f32, float)
LONGSHORE_BIND(f64, double)
LONGSHORE_BIND(f16, Float16)
LONGSHORE_BIND(bf16, BFloat16)
LONGSHORE_BIND(u8, std::uint8_t)
LONGSHORE_BIND(i8, std::int8_t)
LONGSHORE_BIND(u16, std::uint16_t)
LONGSHORE_BIND(i16, std::int16_t)
LONGSHORE_BIND(u32, std::uint32_t)
LONGSHORE_BIND(i32, std::int32_t)
LONGSHORE_BIND(u64, std::uint64_t)
LONGSHORE_BIND(i64, std::int64_t)
LONGSHORE_BIND(boolean, Bool8)
LONGSHORE_BIND(i4, Int4)
LONGSHORE_BIND(u4, UInt4)
LONGSHORE_BIND(i2, Int2)
LONGSHORE_BIND(u2, UInt2)
LONGSHORE_BIND(f8e4m3fn, Float8E4M3Fn)
LONGSHORE_BIND(f8e4m3fnuz, Float8E4M3Fnuz)
LONGSHORE_BIND(f8e5m2, Float8E5M2)
LONGSHORE_BIND(f8e5m2fnuz, Float8E5M2Fnuz)
LONGSHORE_BIND(f8e8m0, Float8E8M0)
LONGSHORE_BIND(f4e2m1, Float4E2M1)
#undef LONGSHORE_BIND

/// The C++ types of a set of element types; visit_type calls f.template operator()<T>() for the
/// one that matches and returns true, or returns false.
template <class... Ts>
struct TypeList {};

template <class F, class... Ts>
bool visit_type(TypeList<Ts...>, DType dtype, F&& f) {
  return ((dtype == DTypeOf<Ts>::dtype ? (f.template operator()<Ts>(), true) : false) || ...);
}

using FloatTypes = TypeList<float, double, Float16, BFloat16>;
using IntegerTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                              std::uint16_t, std::uint32_t, std::uint64_t>;
using NumberTypes =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
             std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
/// Every type that Longshore stores.
using AllTypes = TypeList<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                          std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                          Bool8, Int4, UInt4, Int2, UInt2, Float8E4M3Fn, Float8E4M3Fnuz, Float8E5M2,
                          Float8E5M2Fnuz, Float8E8M0, Float4E2M1>;

/// The type in which a stored type computes: half formats as float, the rest as themselves.
template <class T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<Float16> {
  using Type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using Type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::Type;

}  // namespace longshore
