#include "ops/carried.hpp"

namespace longshore::ops {

TensorType common_type(const TensorType& a, const TensorType& b) {
  if (a.dtype == DType::undefined) return b;
  if (b.dtype == DType::undefined) return a;
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) return TensorType::unranked(a.dtype);
  TensorType out = a;
  for (std::size_t i = 0; i < out.dims.size(); i++)
    if (!out.dims[i].same(b.dims[i])) out.dims[i] = Dim();
  return out;
}

std::vector<TensorType> infer_carried(InferContext& c, std::vector<TensorType>& inputs,
                                      std::size_t first, std::size_t first_out, std::size_t count) {
  for (int round = 0;; round++) {
    std::vector<TensorType> out = c.infer_subgraph("body", inputs);
    if (out.size() < first_out + count)
      c.fail("its body has " + std::to_string(out.size()) + " outputs, it needs at least " +
             std::to_string(first_out + count));
    bool stable = true;
    for (std::size_t i = 0; i < count; i++) {
      TensorType &in = inputs[first + i], &back = out[first_out + i];
      if (back.dtype != in.dtype && back.dtype != DType::undefined && in.dtype != DType::undefined)
        c.fail("carried value " + std::to_string(i) + " goes into its body as " + print(in) +
               " and comes out as " + print(back));
      const TensorType both = round < 16 ? common_type(in, back) : TensorType::unranked(in.dtype);
      if (!(both == in)) in = both, stable = false;
    }
    if (stable) return out;
  }
}

Status copy_output(EvalContext& c, std::size_t i, const TensorView& from) noexcept {
  if (!c.wants(i)) return {};
  MutableView y;
  LONGSHORE_TRY(c.output(i, from.shape, y));
  if (y.dtype != from.dtype)
    return Status::error(Code::bad_model, "output %zu is of another type than its body gives", i);
  if (from.bytes() > 0) std::memcpy(y.data, from.data, from.bytes());
  return {};
}

Shape empty_stack(const EvalContext& c, std::size_t i, int axis) noexcept {
  Shape dims = c.inferred_dims(i);
  for (std::int64_t& d : dims) d = std::max<std::int64_t>(d, 0);
  if (dims.rank == 0) dims.push(0);
  if (axis < dims.rank) dims[axis] = 0;
  return dims;
}

}  // namespace longshore::ops
