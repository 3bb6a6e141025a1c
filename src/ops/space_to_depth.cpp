#include "ops/movement.hpp"

namespace longshore::ops::op_space_to_depth {
namespace {

void infer(InferContext& c) {
  TensorType x = c.input(0);
  const std::int64_t b = c.attributes().integer("blocksize");
  if (b < 1 || b > 1 << 15) c.fail("its blocksize is " + std::to_string(b));
  if (x.ranked) {
    if (x.rank() != 4) c.fail("its input has rank " + std::to_string(x.rank()) + ", not 4");
    x.dims[1] = x.dims[1].known() ? Dim(x.dims[1].value * b * b) : Dim();
    for (std::size_t i : {2u, 3u}) {
      if (x.dims[i].known() && x.dims[i].value % b != 0)
        c.fail("its height or width is no multiple of blocksize");
      x.dims[i] = x.dims[i].known() ? Dim(x.dims[i].value / b) : Dim();
    }
  }
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const std::int64_t b = c.attributes.integer("blocksize");
  if (x.shape.rank != 4 || b < 1 || b > 1 << 15 || x.shape[2] % b != 0 || x.shape[3] % b != 0)
    return Status::error(Code::bad_argument,
                         "the input must be N, C, H, W with H and W multiples of blocksize");
  const std::int64_t n = x.shape[0], channels = x.shape[1], h = x.shape[2] / b, w = x.shape[3] / b;
  MutableView y;
  LONGSHORE_TRY(c.output(0, {n, channels * b * b, h, w}, y));
  // Walk y as [n, block row, block column, channel, h, w].
  const Shape dims{n, b, b, channels, h, w};
  const Shape from{channels * h * b * w * b, w * b, 1, h * b * w * b, b * w * b, b};
  copy_strided(dims, size_bytes(x.dtype), x.data, from, y.data, strides_of(dims));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "SpaceToDepth",
    .doc = "Blocks of pixels become channels; the block position is the outer part of the channel.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"blocksize", AttributeKind::integer, true}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = take_form,
    .examples = {"(x: f32[N,2,4,6]) { y = SpaceToDepth(x, blocksize=2) return y }"},
};

}  // namespace longshore::ops::op_space_to_depth
