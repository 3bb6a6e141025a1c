// Shared by the element-wise operators: types, numpy broadcasting, loops over every type.
#pragma once
#include <algorithm>
#include <cmath>

#include "ir/op.hpp"
#include "tensor/visit.hpp"

namespace longshore::ops {

void infer_same(InferContext& c);

/// numpy's rule; nothing where dims are known and clash.
std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b);

/// Output 0 is the broadcast of all inputs, of element type `dtype` (undefined: as input 0).
void infer_broadcast_as(InferContext& c, DType dtype);
void infer_broadcast(InferContext& c);
void infer_broadcast_bool(InferContext& c);

/// `first_dim` of operators that broadcast: an input of full rank that starts with a number
/// above 1.
std::int64_t first_dim_of_broadcast(const NodeTypes& n);

/// The broadcast of two known shapes; false where they clash. `out` may be one of them.
bool broadcast_shape(const Shape& a, const Shape& b, Shape& out);

/// Strides in elements with which a tensor of dims `from` is read while walking `to`; 0 where it
/// is repeated.
Shape broadcast_strides(const Shape& from, const Shape& to);

/// Walks `dims` row-major and keeps an offset for each of N stride sets.
template <int N>
class Walk {
 public:
  Walk() = default;
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

/// The same walk in rows: neighbouring dims are merged where every stride set allows it, and the
/// innermost one is left to the caller's loop.
///   for (Rows<2> rows(dims, strides); rows.more(); rows.next())
///     for (j = 0; j < rows.count(); j++)
///       to[rows.out() + j] = f(p[rows.at(0) + j * rows.step(0)], ...);
template <int N>
class Rows {
 public:
  Rows(const Shape& dims, const Shape (&strides)[N]) : left_(dims.elements() > 0 ? 1 : 0) {
    Shape merged, steps[N];
    for (int i = 0; i < dims.rank; i++) {
      if (dims[i] == 1) continue;
      const int last = merged.rank - 1;
      bool joins = last >= 0;
      for (int n = 0; n < N && joins; n++) joins = steps[n][last] == strides[n][i] * dims[i];
      if (joins)
        merged[last] *= dims[i];
      else
        merged.push(dims[i]);
      for (int n = 0; n < N; n++) {
        if (joins)
          steps[n][last] = strides[n][i];
        else
          steps[n].push(strides[n][i]);
      }
    }
    if (merged.rank > 0) {
      count_ = merged.back();
      for (int n = 0; n < N; n++) step_[n] = steps[n].back();
      merged.rank--;
    }
    left_ *= merged.elements();
    walk_ = Walk<N>(merged, steps);
  }
  bool more() const { return left_ > 0; }
  void next() {
    left_--;
    out_ += count_;
    walk_.next();
  }
  /// Elements of a row, and the number of the first one.
  std::int64_t count() const { return count_; }
  std::int64_t out() const { return out_; }
  /// Where input n starts in this row, and how far apart its elements are.
  std::int64_t at(int n) const { return walk_.offset(n); }
  std::int64_t step(int n) const { return step_[n]; }

 private:
  std::int64_t left_, count_ = 1, out_ = 0, step_[N] = {};
  Walk<N> walk_;
};

Status wrong_type(DType t);
Status cannot_broadcast();

/// Rank for the limits of a target; what every element-wise operator says of itself.
void facts_rank(const NodeTypes& n, Facts& facts);

/// y[i] = f(x[i]); f sees the compute type of each type in List. Out is the stored output type,
/// or the input's own when it is void.
template <class List, class Out = void, class F>
Status eval_unary_with(EvalContext& c, F&& f) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const bool known = visit_type(List{}, x.dtype, [&]<class T>() {
    using To = std::conditional_t<std::is_void_v<Out>, T, Out>;
    const T* from = x.as<T>();
    To* to = y.as<To>();
    for (std::int64_t i = 0, n = x.elements(); i < n; i++)
      to[i] = static_cast<To>(f(static_cast<Compute<T>>(from[i])));
  });
  return known ? Status{} : wrong_type(x.dtype);
}
template <class List, auto f, class Out = void>
Status eval_unary(EvalContext& c) noexcept {
  return eval_unary_with<List, Out>(c, f);
}

/// y = f(a, b, status) with numpy broadcasting. Out is the stored output type for input type T,
/// or T itself when Out is void. f reports an error through `status`.
template <class List, class Out, class F>
Status eval_binary_with(EvalContext& c, F&& f) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1);
  Shape dims;
  if (!broadcast_shape(a.shape, b.shape, dims)) return cannot_broadcast();
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const Shape strides[2] = {broadcast_strides(a.shape, dims), broadcast_strides(b.shape, dims)};
  Status status;
  const bool known = visit_type(List{}, a.dtype, [&]<class T>() {
    using To = std::conditional_t<std::is_void_v<Out>, T, Out>;
    for (Rows<2> rows(dims, strides); rows.more(); rows.next()) {
      const T *p = a.as<T>() + rows.at(0), *q = b.as<T>() + rows.at(1);
      To* to = y.as<To>() + rows.out();
      for (std::int64_t j = 0; j < rows.count(); j++)
        to[j] = static_cast<To>(f(static_cast<Compute<T>>(p[j * rows.step(0)]),
                                  static_cast<Compute<T>>(q[j * rows.step(1)]), status));
    }
  });
  if (!known) return wrong_type(a.dtype);
  return status;
}
template <class List, auto f, class Out = void>
Status eval_binary(EvalContext& c) noexcept {
  return eval_binary_with<List, Out>(c, [](auto a, auto b, Status&) { return f(a, b); });
}

/// y[i] = f(f(x0[i], x1[i]), ...) over any number of inputs, broadcast; `finish` sees the result
/// and the number of inputs. Half types are rounded once, at the end.
template <class List, class F, class G>
Status eval_variadic_with(EvalContext& c, F&& f, G&& finish) noexcept {
  const std::size_t count = c.inputs.size();
  if (count == 0) return Status::error(Code::bad_model, "it needs at least one input");
  Shape dims = c.input(0).shape;
  for (std::size_t k = 1; k < count; k++)
    if (!broadcast_shape(dims, c.input(k).shape, dims)) return cannot_broadcast();
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  constexpr std::int64_t block = 128;
  const std::int64_t n = dims.elements();
  const bool known = visit_type(List{}, y.dtype, [&]<class T>() {
    Compute<T> values[block];
    for (std::int64_t start = 0; start < n; start += block) {
      const std::int64_t size = std::min(block, n - start);
      for (std::size_t k = 0; k < count; k++) {
        const TensorView& x = c.input(k);
        const Shape strides = broadcast_strides(x.shape, dims);
        for (std::int64_t j = 0; j < size; j++) {
          std::int64_t rest = start + j, at = 0;
          for (int i = dims.rank; i-- > 0; rest /= dims[i]) at += rest % dims[i] * strides[i];
          const auto value = static_cast<Compute<T>>(x.as<T>()[at]);
          values[j] = k == 0 ? value : f(values[j], value);
        }
      }
      for (std::int64_t j = 0; j < size; j++)
        y.as<T>()[start + j] = static_cast<T>(finish(values[j], count));
    }
  });
  return known ? Status{} : wrong_type(y.dtype);
}

/// The larger or smaller number; NaN where either is NaN.
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return a + b;
  return a < b ? b : a;
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return a + b;
  return b < a ? b : a;
}

/// Integer arithmetic that wraps around, without undefined behaviour; floats as they are.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapping_subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}
template <class T>
T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

}  // namespace longshore::ops
