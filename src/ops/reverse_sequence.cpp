#include "ops/movement.hpp"

namespace longshore::ops::op_reverse_sequence {
namespace {

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  if (x.ranked && x.rank() < 2)
    c.fail("its input has rank " + std::to_string(x.rank()) + ", not 2 or more");
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &lengths = c.input(1);
  const std::int64_t batch_axis = c.attributes.integer("batch_axis", 1),
                     time_axis = c.attributes.integer("time_axis", 0);
  if (x.shape.rank < 2 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0)
    return Status::error(Code::bad_argument,
                         "batch_axis and time_axis must be 0 and 1, the rank at least 2");
  const int time = static_cast<int>(time_axis), batch = static_cast<int>(batch_axis);
  if (lengths.elements() != x.shape[batch])
    return Status::error(Code::bad_argument, "there must be one length for each batch");
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const std::int64_t inner =
      x.shape.product(2, x.shape.rank) * static_cast<std::int64_t>(size_bytes(x.dtype));
  for (std::int64_t b = 0; b < x.shape[batch]; b++) {
    const std::int64_t length = int_at(lengths, b);
    if (length < 0 || length > x.shape[time])
      return Status::error(Code::bad_argument, "a length of %lld", static_cast<long long>(length));
    for (std::int64_t t = 0; t < x.shape[time] && inner > 0; t++) {
      const std::int64_t s = t < length ? length - 1 - t : t;
      const auto at = [&](std::int64_t i) {
        return (time == 0 ? i * x.shape[1] + b : b * x.shape[1] + i) * inner;
      };
      std::memcpy(y.as<std::byte>() + at(t), x.as<std::byte>() + at(s),
                  static_cast<std::size_t>(inner));
    }
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ReverseSequence",
    .doc = "Reverses the first elements of each sequence, as many as its length.",
    .since = 10,
    .schema = {.inputs = {{"input", type_set::any, "T"}, {"sequence_lens", type_set::int64}},
               .outputs = {{"Y", type_set::any, "T"}},
               .attributes = {{"batch_axis"}, {"time_axis"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[4,3,N]) { y = ReverseSequence(x, i64[3]{2, 4, 0}) return y }",
                 "(x: i8[2,4]) { y = ReverseSequence(x, i64[2]{3, 1}, batch_axis=0, time_axis=1) "
                 "return y }"},
};

}  // namespace longshore::ops::op_reverse_sequence
