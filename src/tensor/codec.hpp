#pragma once
#include "base/codec.hpp"
#include "tensor/attribute.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"
#include "tensor/state.hpp"

namespace longshore {

template <>
inline constexpr unsigned enumerators<DType> = dtype_count;
template <>
inline constexpr unsigned enumerators<Rounding> = 3;

/// A shape; dimensions may be -1 (unknown) where `unknown_dims`.
template <class A>
void fields(A& a, Shape& s, bool unknown_dims = false) {
  std::uint8_t rank = static_cast<std::uint8_t>(s.rank);
  a.number(rank);
  if constexpr (A::reading) {
    if (rank > max_rank) return a.fault("a tensor has too many dimensions");
    s.rank = rank;
  }
  for (std::int64_t& d : s) {
    a.number(d);
    if constexpr (A::reading)
      if (a.ok() && d < (unknown_dims ? -1 : 0)) a.fault("a dimension is negative");
  }
}

/// Scales and zero points; whether they fit the tensor is checked by who knows its dims.
template <class A>
void fields(A& a, Quantisation& q) {
  numbers(a, q.scale);
  numbers(a, q.zero_point);
  std::int32_t axis = q.axis;
  a.number(axis);
  q.axis = axis;
  a.number(q.block);
  if constexpr (A::reading) {
    if (a.ok() && (q.scale.size() != q.zero_point.size() || q.block < 0))
      a.fault("a value has scales without zero points");
  }
}

template <class A>
void fields(A& a, std::vector<StateSlot>& states) {
  a.list(states, 16, [&](StateSlot& s) {
    a.number(s.input);
    a.number(s.output);
    a.number(s.capacity);
  });
}

/// A small tensor with its bytes: attributes. Weights lie elsewhere.
template <class A>
void fields(A& a, Tensor& t) {
  a.number(t.dtype);
  fields(a, t.shape);
  if constexpr (A::reading) {
    if (!a.ok()) return;
    const std::int64_t n = checked_elements(t.shape, std::int64_t{1} << 32);
    if (n < 0 || size_bytes(t.dtype) == 0)
      return a.fault("a tensor cannot be so large, or of such a type");
    const std::span<const std::byte> bytes =
        a.raw(static_cast<std::size_t>(n) * size_bytes(t.dtype));
    if (a.ok()) t.blob = copy_blob(bytes.data(), bytes.size());
  } else {
    a.raw(t.blob->bytes().first(t.bytes()));
  }
}

template <class A>
void fields(A& a, Attribute::Value& value) {
  auto kind = static_cast<std::uint8_t>(value.index());
  a.number(kind);
  const auto put = [&]<class T>([[maybe_unused]] T start, auto&& walk) {
    if constexpr (A::reading) value = std::move(start);
    walk(std::get<T>(value));
  };
  switch (static_cast<AttributeKind>(kind)) {
    case AttributeKind::integer:
      return put(std::int64_t{}, [&](auto& x) { a.number(x); });
    case AttributeKind::real:
      return put(float{}, [&](auto& x) { a.number(x); });
    case AttributeKind::text:
      return put(std::string{}, [&](auto& x) { a.text(x); });
    case AttributeKind::integers:
      return put(Ints{}, [&](auto& x) { numbers(a, x); });
    case AttributeKind::reals:
      return put(Reals{}, [&](auto& x) { numbers(a, x); });
    case AttributeKind::texts:
      return put(Texts{}, [&](auto& x) { texts(a, x); });
    case AttributeKind::tensor:
      return put(Tensor{}, [&](auto& x) { fields(a, x); });
    default:
      break;
  }
  if constexpr (A::reading) a.fault("an attribute is of no known kind");
}

template <class A>
void fields(A& a, Attributes& attributes) {
  if constexpr (A::reading) {
    const std::size_t n = a.count(6);
    for (std::size_t i = 0; i < n && a.ok(); i++) {
      std::string name;
      Attribute::Value value;
      a.text(name);
      fields(a, value);
      if (a.ok() && attributes.has(name)) return a.fault("an attribute is given twice");
      if (a.ok()) attributes.set(name, std::move(value));
    }
  } else {
    a.number(static_cast<std::uint32_t>(attributes.size()));
    for (const Attribute& each : attributes) {
      a.text(each.name);
      fields(a, const_cast<Attribute::Value&>(each.value));
    }
  }
}

}  // namespace longshore
