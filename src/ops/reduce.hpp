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
inline void plan_reduction(const Shape& x, bool keepdims, Reduction& r) {
  const Shape strides = strides_of(x);
  for (int i = 0; i < x.rank; i++) {
    if (r.reduced[i]) {
      r.summed.push(x[i]);
      r.summed_strides.push(strides[i]);
      r.count *= x[i];
      if (keepdims) r.output.push(1);
    } else {
      r.kept.push(x[i]);
      r.kept_strides.push(strides[i]);
      r.output.push(x[i]);
    }
  }
}

/// From the node's second input and attributes. Without axes all dims are reduced, or none where
/// noop_with_empty_axes is set.
inline Status reduction_of(const EvalContext& c, Reduction& r) noexcept {
  const TensorView &x = c.input(0), &axes = c.input(1);
  const bool none = !axes.present() || axes.elements() == 0;
  if (none && c.attributes.integer("noop_with_empty_axes") == 0)
    std::fill_n(r.reduced, x.shape.rank, true);
  for (std::int64_t i = 0; !none && i < axes.elements(); i++) {
    const int axis = resolve_axis(axes.as<std::int64_t>()[i], x.shape.rank);
    if (axis < 0)
      return Status::error(Code::bad_argument, "axis %lld is out of range for rank %d",
                           static_cast<long long>(axes.as<std::int64_t>()[i]), x.shape.rank);
    r.reduced[axis] = true;
  }
  plan_reduction(x.shape, c.attributes.integer("keepdims", 1) != 0, r);
  return {};
}

/// Type of output 0 from input 0 and the axes of input 1.
inline void infer_reduction(InferContext& c) {
  const TensorType x = c.input(0);
  const bool keepdims = c.attributes().integer("keepdims", 1) != 0;
  const bool noop = c.attributes().integer("noop_with_empty_axes") != 0;
  if (!x.ranked) return c.output(0, x);
  std::optional<Ints> axes = c.has(1) ? c.integers(1) : Ints{};
  if (!axes) {  // known only at run time
    if (!keepdims) return c.output(0, TensorType::unranked(x.dtype));
    return c.output(0, TensorType(x.dtype, Dims(x.dims.size())));
  }
  bool reduced[max_rank] = {};
  if (axes->empty()) std::fill_n(reduced, x.rank(), !noop);
  for (std::int64_t a : *axes) {
    const int axis = resolve_axis(a, x.rank());
    if (axis < 0) c.fail("axis " + std::to_string(a) + " is out of range for " + print(x));
    reduced[axis] = true;
  }
  TensorType y(x.dtype, Dims());
  for (int i = 0; i < x.rank(); i++) {
    if (!reduced[i])
      y.dims.push_back(x.dims[static_cast<std::size_t>(i)]);
    else if (keepdims)
      y.dims.emplace_back(1);
  }
  c.output(0, y);
}

/// The axes were an attribute before opset `since` (13 for ReduceSum, 18 for the others).
template <int since>
void normalise_axes(Node& n, int opset, Rewriter& r) {
  if (opset < since) attribute_to_input(n, "axes", 1, r);
}

inline void facts_reduce(const NodeTypes& n, Facts& facts) {
  if (n.input(0).ranked) facts["rank"] = n.input(0).rank();
}

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
inline FormSpec reduce_form(const NodeTypes& n, std::string_view function) {
  FormSpec s{.form = "reduce", .function = function};
  const int rank = n.input(0).rank();
  std::vector<std::int64_t> axes;
  if (const Tensor* t = n.graph.constant(n.node.input(1)); t && t->dtype == DType::i64)
    axes.assign(t->values<std::int64_t>().begin(), t->values<std::int64_t>().end());
  const std::span<const std::int64_t> given = n.node.attributes.integers("axes");
  axes.insert(axes.end(), given.begin(), given.end());
  for (std::int64_t& a : axes) a = a < 0 ? a + rank : a;
  std::ranges::sort(axes);
  std::vector<std::int64_t> spatial;
  for (int a = 2; a < rank; a++) spatial.push_back(a);
  const auto shown = [](const std::vector<std::int64_t>& list) {
    std::string out = "[";
    for (std::int64_t a : list) out += (out.size() > 1 ? "," : "") + std::to_string(a);
    return out + "]";
  };
  if (axes != spatial || spatial.empty()) s.refuse("axes", shown(axes), rank < 3 ? "those of an image, from the third on" : shown(spatial));
  return s;
}

}  // namespace longshore::ops
