#include "tensor/convert.hpp"

#include <algorithm>

namespace longshore {
namespace {

/// A power of two for x, as a code of f8e8m0; 255 is NaN. Zero is below the smallest number.
std::uint8_t encode_e8m0(double x, const Float8Options& o) noexcept {
  constexpr std::uint8_t nan = 255;
  if (std::isnan(x)) return nan;
  int power = 0;
  if (std::isinf(x)) {
    power = 1024;
  } else if (x == 0) {
    power = -1024;
  } else {
    const double fraction = std::frexp(std::fabs(x), &power);  // [0.5, 1)
    power--;
    if (o.round == Float8Options::Round::up && fraction > 0.5) power++;
    if (o.round == Float8Options::Round::nearest && fraction >= 0.75) power++;
  }
  if (power >= -127 && power <= 127) return static_cast<std::uint8_t>(power + 127);
  if (!o.saturate) return nan;
  return power < 0 ? 0 : 254;
}

template <class Format, class Storage, Overflow overflow, class From>
void store(SmallFloat<Format, Storage, overflow>& y, From x, const Float8Options& o) noexcept {
  const bool saturate = overflow == Overflow::saturate && o.saturate;  // f16 never does
  y.code = static_cast<Storage>(Format::encode(
      static_cast<double>(x), saturate ? Overflow::saturate : Overflow::to_infinity));
}
template <class From>
void store(Float8E8M0& y, From x, const Float8Options& o) noexcept {
  y.code = encode_e8m0(static_cast<double>(x), o);
}
template <class To, class From>
void store(To& y, From x, const Float8Options&) noexcept {
  y = convert<To>(x);
}

/// Number i as double, float, int64 or uint64: what loses nothing.
template <class T>
auto widen(T x) noexcept {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>)
    return x;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return x;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::int64_t>(x);
  else if constexpr (is_tiny<T>)
    return static_cast<std::int64_t>(static_cast<int>(x));
  else if constexpr (std::is_same_v<T, Bool8>)
    return static_cast<std::int64_t>(static_cast<bool>(x));
  else
    return static_cast<float>(x);
}

constexpr std::int64_t block = 256;

template <class Wide>
void store_block(const Wide* from, const MutableView& y, std::int64_t start, std::int64_t n,
                 const Float8Options& o) noexcept {
  visit_type(AllTypes{}, y.dtype, [&]<class T>() {
    T* to = y.as<T>() + start;
    for (std::int64_t i = 0; i < n; i++) store(to[i], from[i], o);
  });
}

}  // namespace

Status cast_tensor(const TensorView& x, const MutableView& y, const Float8Options& o) noexcept {
  if (size_bytes(x.dtype) == 0 || size_bytes(y.dtype) == 0 || x.elements() != y.elements())
    return Status::error(Code::unsupported, "cannot convert %s to %s", name(x.dtype).data(),
                         name(y.dtype).data());
  const std::int64_t n = x.elements();
  const bool known = visit_type(AllTypes{}, x.dtype, [&]<class T>() {
    using Wide = decltype(widen(T{}));
    Wide wide[block];
    for (std::int64_t start = 0; start < n; start += block) {
      const std::int64_t count = std::min(block, n - start);
      for (std::int64_t i = 0; i < count; i++) wide[i] = widen(x.as<T>()[start + i]);
      store_block(wide, y, start, count, o);
    }
  });
  return known ? Status{}
               : Status::error(Code::unsupported, "cannot convert %s", name(x.dtype).data());
}

double load_real(const TensorView& t, std::int64_t i) noexcept {
  double value = 0;
  visit_type(AllTypes{}, t.dtype,
             [&]<class T>() { value = static_cast<double>(widen(t.as<T>()[i])); });
  return value;
}

std::int64_t load_integer(const TensorView& t, std::int64_t i) noexcept {
  std::int64_t value = 0;
  visit_type(IntegerTypes{}, t.dtype,
             [&]<class T>() { value = static_cast<std::int64_t>(t.as<T>()[i]); });
  return value;
}

void store_real(const MutableView& t, std::int64_t i, double value) noexcept {
  store_block(&value, t, i, 1, {});
}

Tensor make_number(DType dtype, double value) {
  std::vector<std::byte> bytes(size_bytes(dtype));
  store_real({dtype, Shape{}, bytes.data(), {}}, 0, value);
  return {dtype, Shape{}, make_blob(std::move(bytes))};
}

}  // namespace longshore
