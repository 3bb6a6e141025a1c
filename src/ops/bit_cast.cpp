#include "base/error.hpp"
#include "ops/cast.hpp"
#include "ops/copy.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_bit_cast {
namespace {

void infer(InferContext& c) {
  TensorType y = c.input(0);
  const DType from = y.dtype;
  y.dtype = dtype_of(c.attributes().integer("to"));
  const bool fits = size_bytes(y.dtype) > 0 && file_bits(y.dtype) == file_bits(from);
  if (from != DType::undefined && !fits)
    c.fail(str("the bits of ", name(from), " cannot be looked at as ", name(y.dtype)));
  c.output(0, y);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "BitCast",
    .doc = "The same bits as another element type of the same width.",
    .since = 26,
    .came = 26,
    .schema = {.inputs = {{"input", type_set::any}},
               .outputs = {{"output", type_set::any}},
               .attributes = {{"to", AttributeKind::integer, true}}},
    .infer = infer,
    .eval = eval_copy,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3]) { y = BitCast(x, to=6) return y }"},
};

}  // namespace longshore::ops::op_bit_cast
