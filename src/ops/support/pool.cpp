#include "ops/pool.hpp"

namespace longshore::ops {

Status pool_window(const Attributes& a, const Shape& x, Window& w) noexcept {
  return make_window(a, x, a.integers("kernel_shape"), w);
}

void infer_pool(InferContext& c) {
  const TensorType x = c.input(0);
  if (!x.ranked) {
    c.output(0, TensorType::unranked(x.dtype));
    c.output(1, TensorType::unranked(DType::i64));
    return;
  }
  if (x.rank() < 3)
    c.fail("its input has rank " + std::to_string(x.rank()) + "; rank 3, 4 or 5 is supported");
  const std::span<const std::int64_t> kernel = c.attributes().integers("kernel_shape");
  const Dims sizes(kernel.begin(), kernel.end()), spatial = infer_window(c, x, sizes);
  Dims out = {x.dims[0], x.dims[1]};
  out.insert(out.end(), spatial.begin(), spatial.end());
  c.output(0, {x.dtype, out});
  c.output(1, {DType::i64, out});
}

void pool_facts(const NodeTypes& n, Facts& facts) {
  window_facts(n, n.node.attributes.integers("kernel_shape"), facts);
}

FormSpec pool_form(const NodeTypes& n, std::string_view function) {
  FormSpec s{.form = "pool", .function = function};
  if (const std::optional<Shape> x = n.input(0).shape())
    (void)pool_window(n.node.attributes, *x, s.window);
  return s;
}

void infer_global_pool(InferContext& c) {
  TensorType x = c.input(0);
  if (x.ranked && x.rank() < 2)
    c.fail("its input has rank " + std::to_string(x.rank()) + ", not 2 or more");
  for (std::size_t i = 2; i < x.dims.size(); i++) x.dims[i] = Dim(1);
  c.output(0, x);
}

Shape global_pool_shape(const Shape& x) {
  Shape out = x;
  for (int i = 2; i < x.rank; i++) out[i] = 1;
  return out;
}

void global_pool_facts(const NodeTypes& n, Facts& facts) {
  tensor_facts(n, facts);
  const std::optional<Shape> x = n.input(0).shape();
  if (!x || x->rank < 3) return;
  facts["kernel_h"] = x->rank > 3 ? (*x)[x->rank - 2] : 1;
  facts["kernel_w"] = x->back();
  facts["out_channels"] = (*x)[1];
}

}  // namespace longshore::ops
