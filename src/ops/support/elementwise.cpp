#include "ops/elementwise.hpp"

namespace longshore::ops {

void infer_same(InferContext& c) { c.output(0, c.input(0)); }

std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const Dims &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); i++) {
    Dim& d = out[skip + i];
    const Dim& e = shorter[i];
    if (d.same(e) || (e.known() && e.value == 1)) continue;
    if (d.known() && d.value == 1)
      d = e;
    else if (d.known() && e.known())
      return {};
    else if (e.known())
      d = e;  // the other is e or 1, both give e
    else if (!d.known())
      d = Dim();  // two symbols: either may be 1
  }
  return out;
}

void infer_broadcast_as(InferContext& c, DType dtype) {
  TensorType out = c.input(0);
  for (std::size_t i = 1; i < c.input_count(); i++) {
    const TensorType t = c.input(i);
    if (out.dtype == DType::undefined) out.dtype = t.dtype;
    if (!t.ranked || !out.ranked) {
      out = TensorType::unranked(out.dtype);
      continue;
    }
    const std::optional<Dims> dims = broadcast_dims(out.dims, t.dims);
    if (!dims)
      c.fail("its inputs of dims " + print(TensorType(t.dtype, out.dims)) + " and " + print(t) +
             " cannot be broadcast to one another");
    out.dims = *dims;
  }
  if (dtype != DType::undefined) out.dtype = dtype;
  c.output(0, out);
}

void infer_broadcast(InferContext& c) { infer_broadcast_as(c, DType::undefined); }

void infer_broadcast_bool(InferContext& c) { infer_broadcast_as(c, DType::boolean); }

std::int64_t first_dim_of_broadcast(const NodeTypes& n) {
  int rank = 0;
  for (ValueId v : n.node.inputs)
    if (v != no_value) rank = std::max(rank, n.graph[v].type.rank());
  for (ValueId v : n.node.inputs)
    if (v != no_value && rank > 0 && n.graph[v].type.rank() == rank &&
        n.graph[v].type.dims[0].known() && n.graph[v].type.dims[0].value > 1)
      return n.graph[v].type.dims[0].value;
  return 0;
}

bool broadcast_shape(const Shape& a, const Shape& b, Shape& out) {
  const Shape shorter = a.rank >= b.rank ? b : a;
  out = a.rank >= b.rank ? a : b;
  const int skip = out.rank - shorter.rank;
  for (int i = 0; i < shorter.rank; i++) {
    std::int64_t& d = out[skip + i];
    if (d == shorter[i] || shorter[i] == 1) continue;
    if (d != 1) return false;
    d = shorter[i];
  }
  return true;
}

Shape broadcast_strides(const Shape& from, const Shape& to) {
  const Shape dense = strides_of(from);
  Shape out = to;
  const int skip = to.rank - from.rank;
  for (int i = 0; i < to.rank; i++) out[i] = i < skip || from[i - skip] == 1 ? 0 : dense[i - skip];
  return out;
}

Status wrong_type(DType t) {
  return Status::error(Code::unsupported, "element type %s is not supported here", name(t).data());
}

Status cannot_broadcast() {
  return Status::error(Code::bad_argument, "the inputs cannot be broadcast to one another");
}

void facts_rank(const NodeTypes& n, Facts& facts) {
  if (n.output().ranked) facts["rank"] = n.output().rank();
}

}  // namespace longshore::ops
