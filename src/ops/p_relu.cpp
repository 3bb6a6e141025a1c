#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_p_relu {
namespace {

/// Before opset 7 a slope for each channel was a vector along axis 1.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset >= 7) return;
  unsqueeze_to_axis(n, 1, r);
}

Status eval(EvalContext& c) noexcept {
  return eval_binary<NumberTypes,
                     [](auto x, auto slope) { return x < 0 ? wrapping_multiply(x, slope) : x; }>(c);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "PRelu",
    .doc = "y = x where x >= 0, else slope * x; the slope is broadcast.",
    .since = 16,
    .schema =
        {.inputs = {{"A",
                     type_set::float_types | types(DType::i32, DType::i64, DType::u32, DType::u64),
                     "T"},
                    {"B",
                     type_set::float_types | types(DType::i32, DType::i64, DType::u32, DType::u64),
                     "T"}},
         .outputs = {{"C",
                      type_set::float_types | types(DType::i32, DType::i64, DType::u32, DType::u64),
                      "T"}}},
    .normalise = normalise,
    .infer = infer_broadcast,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .first_dim = first_dim_of_broadcast,
    .examples = {"(x: f32[2,3,4], slope: f32[3,1]) { y = PRelu(x, slope) return y }"},
};

}  // namespace longshore::ops::op_p_relu
