#include "ops/reduce.hpp"

namespace longshore::ops {

void plan_reduction(const Shape& x, bool keepdims, Reduction& r) {
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

Status reduction_of(const EvalContext& c, Reduction& r) noexcept {
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

void infer_reduction(InferContext& c) {
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

void facts_reduce(const NodeTypes& n, Facts& facts) {
  if (n.input(0).ranked) facts["rank"] = n.input(0).rank();
}

FormSpec reduce_form(const NodeTypes& n, std::string_view function) {
  FormSpec s{.form = "reduce", .function = function};
  const int rank = n.input(0).rank();
  std::vector<std::int64_t> axes;
  if (const Tensor* t = n.graph.constant(n.node.input(1)); t && t->dtype == DType::i64)
    axes.assign(t->values<std::int64_t>().begin(), t->values<std::int64_t>().end());
  const std::span<const std::int64_t> given = n.node.attributes.integers("axes");
  axes.insert(axes.end(), given.begin(), given.end());
  for (std::int64_t& a : axes) a = a < 0 ? a + rank : a;
  std::ranges::sort(axes);
  // The pixels of an image, whose channels come first or last.
  std::vector<std::int64_t> spatial, before_last;
  for (int a = 2; a < rank; a++) spatial.push_back(a), before_last.push_back(a - 1);
  s.axis = axes == spatial ? 1 : rank - 1;
  const auto shown = [](const std::vector<std::int64_t>& list) {
    std::string out = "[";
    for (std::int64_t a : list) out += (out.size() > 1 ? "," : "") + std::to_string(a);
    return out + "]";
  };
  if (spatial.empty() || (axes != spatial && axes != before_last))
    s.refuse("axes", shown(axes),
             rank < 3 ? "those of an image, from the third on"
                      : str(shown(spatial), " or ", shown(before_last)));
  return s;
}

}  // namespace longshore::ops
