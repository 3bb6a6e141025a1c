// Shared by the element-wise operators: types, numpy broadcasting, loops over every type.
#pragma once
#include <algorithm>

#include "ir/op.hpp"
#include "tensor/visit.hpp"

namespace longshore::ops {

inline void infer_same(InferContext& c) { c.output(0, c.input(0)); }

/// numpy's rule; nothing where dims are known and clash.
inline std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const Dims &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); i++) {
    Dim& d = out[skip + i];
    const Dim& e = shorter[i];
    if (d.same(e) || (e.known() && e.value == 1)) continue;
    if (d.known() && d.value == 1) d = e;
    else if (d.known() && e.known()) return {};
    else if (e.known()) d = e;           // the other is e or 1, both give e
    else if (!d.known()) d = Dim();      // two symbols: either may be 1
  }
  return out;
}

/// Output 0 is the broadcast of all inputs, of element type `dtype` (undefined: as input 0).
inline void infer_broadcast_as(InferContext& c, DType dtype) {
  TensorType out = c.input(0);
  for (std::size_t i = 1; i < c.input_count(); i++) {
    const TensorType t = c.input(i);
    if (out.dtype == DType::undefined) out.dtype = t.dtype;
    if (!t.ranked || !out.ranked) {
      out = TensorType::unranked(out.dtype);
      continue;
    }
    const std::optional<Dims> dims = broadcast_dims(out.dims, t.dims);
    if (!dims) c.fail("its inputs of dims " + print(TensorType(t.dtype, out.dims)) + " and " + print(t) +
                      " cannot be broadcast to one another");
    out.dims = *dims;
  }
  if (dtype != DType::undefined) out.dtype = dtype;
  c.output(0, out);
}
inline void infer_broadcast(InferContext& c) { infer_broadcast_as(c, DType::undefined); }
inline void infer_broadcast_bool(InferContext& c) { infer_broadcast_as(c, DType::boolean); }

/// The broadcast of two known shapes; false where they clash.
inline bool broadcast_shape(const Shape& a, const Shape& b, Shape& out) {
  out = a.rank >= b.rank ? a : b;
  const Shape& shorter = a.rank >= b.rank ? b : a;
  const int skip = out.rank - shorter.rank;
  for (int i = 0; i < shorter.rank; i++) {
    std::int64_t& d = out[skip + i];
    if (d == shorter[i] || shorter[i] == 1) continue;
    if (d != 1) return false;
    d = shorter[i];
  }
  return true;
}

/// Strides in elements with which a tensor of dims `from` is read while walking `to`; 0 where it
/// is repeated.
inline Shape broadcast_strides(const Shape& from, const Shape& to) {
  const Shape dense = strides_of(from);
  Shape out = to;
  const int skip = to.rank - from.rank;
  for (int i = 0; i < to.rank; i++) out[i] = i < skip || from[i - skip] == 1 ? 0 : dense[i - skip];
  return out;
}

/// Walks `dims` row-major and keeps an offset for each of N stride sets.
template <int N>
class Walk {
 public:
  Walk(const Shape& dims, const Shape (&strides)[N]) : dims_(dims) {
    for (int n = 0; n < N; n++) strides_[n] = strides[n];
    at_ = dims;
    for (std::int64_t& i : at_) i = 0;
  }
  std::int64_t offset(int n) const { return offset_[n]; }
  void next() {
    for (int i = dims_.rank; i-- > 0;) {
      for (int n = 0; n < N; n++) offset_[n] += strides_[n][i];
      if (++at_[i] < dims_[i]) return;
      for (int n = 0; n < N; n++) offset_[n] -= strides_[n][i] * dims_[i];
      at_[i] = 0;
    }
  }

 private:
  Shape dims_, at_, strides_[N];
  std::int64_t offset_[N] = {};
};

inline Status wrong_type(DType t) {
  return Status::error(Code::unsupported, "element type %s is not supported here", name(t).data());
}
inline Status cannot_broadcast() {
  return Status::error(Code::bad_argument, "the inputs cannot be broadcast to one another");
}

/// y[i] = f(x[i]); f sees the compute type of each type in List.
template <class List, auto f>
Status eval_unary(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const bool known = visit_type(List{}, x.dtype, [&]<class T>() {
    const T* from = x.as<T>();
    T* to = y.as<T>();
    for (std::int64_t i = 0, n = x.elements(); i < n; i++)
      to[i] = static_cast<T>(f(static_cast<Compute<T>>(from[i])));
  });
  return known ? Status{} : wrong_type(x.dtype);
}

/// y = f(a, b) with numpy broadcasting. Out is the stored output type for input type T, or T
/// itself when Out is void. f may return a Status-carrying error through `failed`.
template <class List, class Out, class F>
Status eval_binary_with(EvalContext& c, F&& f) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1);
  Shape dims;
  if (!broadcast_shape(a.shape, b.shape, dims)) return cannot_broadcast();
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  Status status;
  const bool known = visit_type(List{}, a.dtype, [&]<class T>() {
    using To = std::conditional_t<std::is_void_v<Out>, T, Out>;
    const T *p = a.as<T>(), *q = b.as<T>();
    To* to = y.as<To>();
    const Shape strides[2] = {broadcast_strides(a.shape, dims), broadcast_strides(b.shape, dims)};
    Walk<2> walk(dims, strides);
    for (std::int64_t i = 0, n = dims.elements(); i < n; i++, walk.next())
      to[i] = static_cast<To>(f(static_cast<Compute<T>>(p[walk.offset(0)]),
                                static_cast<Compute<T>>(q[walk.offset(1)]), status));
  });
  if (!known) return wrong_type(a.dtype);
  return status;
}
template <class List, auto f, class Out = void>
Status eval_binary(EvalContext& c) noexcept {
  return eval_binary_with<List, Out>(c, [](auto a, auto b, Status&) { return f(a, b); });
}

}  // namespace longshore::ops
