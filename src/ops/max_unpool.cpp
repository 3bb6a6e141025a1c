#include "ops/movement.hpp"

namespace longshore::ops::op_max_unpool {
namespace {

/// Spatial dims without output_shape: (in - 1) * stride + kernel - pads.
Status unpooled(const Attributes& a, const Shape& x, Shape& out) noexcept {
  const int spatial = x.rank - 2;
  const std::span<const std::int64_t> kernel = a.integers("kernel_shape"),
                                      strides = a.integers("strides"), pads = a.integers("pads");
  if (spatial < 1 || static_cast<int>(kernel.size()) != spatial ||
      (!strides.empty() && static_cast<int>(strides.size()) != spatial) ||
      (!pads.empty() && static_cast<int>(pads.size()) != 2 * spatial))
    return Status::error(Code::bad_model,
                         "kernel_shape, strides or pads do not fit an input of rank %d", x.rank);
  out = x;
  for (int i = 0; i < spatial; i++) {
    const auto k = static_cast<std::size_t>(i), e = static_cast<std::size_t>(i + spatial);
    constexpr std::int64_t most = std::int64_t{1} << 31;
    const std::int64_t stride = strides.empty() ? 1 : strides[k],
                       begin = pads.empty() ? 0 : pads[k], end = pads.empty() ? 0 : pads[e];
    if (stride < 1 || stride > most || kernel[k] < 1 || kernel[k] > most || begin < 0 ||
        begin > most || end < 0 || end > most || x[2 + i] > most)
      return Status::error(Code::bad_model, "a kernel, stride or pad of unsupported size");
    out[2 + i] = (x[2 + i] - 1) * stride + kernel[k] - begin - end;
    if (out[2 + i] < 0)
      return Status::error(Code::bad_argument, "an axis of %lld elements",
                           static_cast<long long>(out[2 + i]));
  }
  return {};
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  if (const std::optional<Ints> wanted = c.integers(2)) {
    if (x.ranked && static_cast<int>(wanted->size()) != x.rank())
      c.fail("output_shape has " + std::to_string(wanted->size()) + " entries");
    Dims dims;
    for (std::int64_t d : *wanted) {
      if (d < 0 || dims.size() >= max_rank) c.fail("its output_shape is no shape");
      dims.emplace_back(d);
    }
    c.output(0, {x.dtype, dims});
    return;
  }
  const std::optional<Shape> shape = x.shape();
  if (c.has(2) || !shape) {
    c.output(0, x.ranked ? unknown_dims(x.dtype, x.rank()) : x);
    return;
  }
  Shape out;
  if (const Status s = unpooled(c.attributes(), *shape, out); !s.ok()) c.fail(s.text());
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &indices = c.input(1);
  Shape pooled, out;
  LONGSHORE_TRY(unpooled(c.attributes, x.shape, pooled));
  out = pooled;
  if (c.has(2)) {
    IntList wanted;
    LONGSHORE_TRY(read_ints(c.input(2), max_rank, "output_shape", wanted));
    out =
        Shape(std::span<const std::int64_t>(wanted.values, static_cast<std::size_t>(wanted.count)));
    if (out.rank != x.shape.rank || out[0] != x.shape[0] || out[1] != x.shape[1] ||
        checked_elements(out) < 0)
      return Status::error(Code::bad_argument, "output_shape does not fit the input");
  }
  if (!(indices.shape == x.shape))
    return Status::error(Code::bad_argument, "X and I differ in dims");
  MutableView y;
  LONGSHORE_TRY(c.output(0, out, y));
  if (y.bytes() > 0) std::memset(y.data, 0, y.bytes());
  // Indices count in the tensor of the pooled dims; output_shape may be larger than it.
  const std::int64_t n = pooled.elements();
  const Shape from = strides_of(pooled), to = strides_of(out);
  for (std::int64_t i = 0; i < x.elements(); i++) {
    std::int64_t k = indices.as<std::int64_t>()[i], at = 0;
    if (k < 0 || k >= n) return index_out_of_range(k, n);
    for (int d = 0; d < out.rank; d++) {
      const std::int64_t p = k / from[d] % pooled[d];
      if (p >= out[d]) return index_out_of_range(p, out[d]);
      at += p * to[d];
    }
    copy_element(y.data, at, x.data, i, size_bytes(x.dtype));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "MaxUnpool",
    .doc = "Puts the maxima of a MaxPool back where its Indices say; zeros elsewhere.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"I", type_set::int64},
                          {"output_shape", type_set::int64, {}, Presence::optional}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"kernel_shape", AttributeKind::integers, true},
                              {"pads", AttributeKind::integers},
                              {"strides", AttributeKind::integers}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[1,1,4,4]) { a, i = MaxPool(x, kernel_shape=[2,2], strides=[2,2]) y = "
                 "MaxUnpool(a, i, kernel_shape=[2,2], "
                 "strides=[2,2]) return y }"},
};

}  // namespace longshore::ops::op_max_unpool
