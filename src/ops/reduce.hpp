// Shared by the reductions: which axes, the loop, and the result's dims.
#pragma once
#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops {

/// Which elements meet in one result.
struct Reduction {
  bool reduced[max_rank] = {};
  Shape output;                  // dims of the result
  Shape kept, kept_strides;      // the results, and where each one's first element is
  Shape summed, summed_strides;  // the elements of a result, from its first one
  std::int64_t count = 1;        // of elements in a result
};

/// Fills the loops from dims and `reduced`.
void plan_reduction(const Shape& x, bool keepdims, Reduction& r);

/// From the node's second input and attributes. Without axes all dims are reduced, or none where
/// noop_with_empty_axes is set.
Status reduction_of(const EvalContext& c, Reduction& r) noexcept;

/// Type of output 0 from input 0 and the axes of input 1.
void infer_reduction(InferContext& c);

/// The axes were an attribute before opset `since` (13 for ReduceSum, 18 for the others).
template <int since>
void normalise_axes(Node& n, int opset, Rewriter& r) {
  if (opset < since) attribute_to_input(n, "axes", 1, r);
}

void facts_reduce(const NodeTypes& n, Facts& facts);

/// In what a reduction of stored type T accumulates: floats as double, half types as float,
/// integers as 64 bits, or as double where the answer is no integer.
template <class T, bool real>
using Accumulator = std::conditional_t<
    std::is_same_v<Compute<T>, float>, std::conditional_t<std::is_same_v<T, float>, double, float>,
    std::conditional_t<real || std::is_same_v<T, double>, double,
                       std::conditional_t<std::is_unsigned_v<T> || std::is_same_v<T, Bool8>,
                                          std::uint64_t, std::int64_t>>>;

/// State is named apart in each file: g++ 12 gives an instance external linkage although its
/// template argument is internal, and the linker would merge instances of one name.
/// y = State<accumulator, stored type>().add(x)....result(count, status) for each result. `real`:
/// integers are seen as double.
template <class List, template <class, class> class State, bool real = false>
Status eval_reduce(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  Reduction r;
  LONGSHORE_TRY(reduction_of(c, r));
  MutableView y;
  LONGSHORE_TRY(c.output(0, r.output, y));
  const Shape outer_strides[1] = {r.kept_strides}, inner_strides[1] = {r.summed_strides};
  const std::int64_t results = y.elements();
  Status status;
  const bool known = visit_type(List{}, x.dtype, [&]<class T>() {
    using A = Accumulator<T, real>;
    Walk<1> outer(r.kept, outer_strides);
    for (std::int64_t i = 0; i < results; i++, outer.next()) {
      State<A, T> state;
      const T* from = x.as<T>() + outer.offset(0);
      for (Rows<1> rows(r.summed, inner_strides); rows.more(); rows.next())
        for (std::int64_t j = 0; j < rows.count(); j++)
          state.add(static_cast<A>(static_cast<Compute<T>>(from[rows.at(0) + j * rows.step(0)])));
      y.as<T>()[i] = convert<T>(state.result(r.count, status));
    }
  });
  return known ? status : wrong_type(x.dtype);
}

inline constexpr Types reduce_types =
    type_set::float_types | types(DType::i32, DType::i64, DType::u32, DType::u64);
using ReduceTypes = TypeList<float, double, Float16, BFloat16, std::int32_t, std::int64_t,
                             std::uint32_t, std::uint64_t>;

/// The form of a reduction over exactly the spatial axes, "mean" or "sum".
FormSpec reduce_form(const NodeTypes& n, std::string_view function);

}  // namespace longshore::ops
