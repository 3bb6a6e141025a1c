#include "ops/movement.hpp"

namespace longshore::ops::op_depth_to_space {
namespace {

void infer(InferContext& c) {
  TensorType x = c.input(0);
  const std::int64_t b = c.attributes().integer("blocksize");
  if (b < 1 || b > 1 << 15) c.fail("its blocksize is " + std::to_string(b));
  if (x.ranked) {
    if (x.rank() != 4) c.fail("its input has rank " + std::to_string(x.rank()) + ", not 4");
    if (x.dims[1].known() && x.dims[1].value % (b * b) != 0)
      c.fail("its channels are no multiple of blocksize squared");
    x.dims[1] = x.dims[1].known() ? Dim(x.dims[1].value / (b * b)) : Dim();
    for (std::size_t i : {2u, 3u}) x.dims[i] = x.dims[i].known() ? Dim(x.dims[i].value * b) : Dim();
  }
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const std::int64_t b = c.attributes.integer("blocksize");
  if (x.shape.rank != 4 || b < 1 || b > 1 << 15 || x.shape[1] % (b * b) != 0)
    return Status::error(Code::bad_argument,
                         "the input must be N, C, H, W with C a multiple of blocksize squared");
  const std::int64_t n = x.shape[0], channels = x.shape[1] / (b * b), h = x.shape[2],
                     w = x.shape[3], plane = h * w;
  MutableView y;
  LONGSHORE_TRY(c.output(0, {n, channels, h * b, w * b}, y));
  const bool columns_first = c.attributes.text("mode", "DCR") == "CRD";
  // Walk y as [n, channel, h, block row, w, block column].
  const Shape dims{n, channels, h, b, w, b};
  const Shape from{x.shape[1] * plane,
                   columns_first ? b * b * plane : plane,
                   w,
                   (columns_first ? b : b * channels) * plane,
                   1,
                   (columns_first ? 1 : channels) * plane};
  copy_strided(dims, size_bytes(x.dtype), x.data, from, y.data, strides_of(dims));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "DepthToSpace",
    .doc =
        "Channels become blocks of pixels: DCR takes the block position from the outer channels, "
        "CRD from the inner.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"blocksize", AttributeKind::integer, true},
                              {"mode", AttributeKind::text}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = take_form,
    .examples = {"(x: f32[N,8,2,3]) { y = DepthToSpace(x, blocksize=2) return y }",
                 "(x: u8[1,8,2,3]) { y = DepthToSpace(x, blocksize=2, mode=\"CRD\") return y }"},
};

}  // namespace longshore::ops::op_depth_to_space
