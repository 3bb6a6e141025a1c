#include "ops/movement.hpp"

namespace longshore::ops::op_trilu {
namespace {

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  if (x.ranked && x.rank() < 2)
    c.fail("its input has rank " + std::to_string(x.rank()) + ", not 2 or more");
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &k = c.input(1);
  if (x.shape.rank < 2)
    return Status::error(Code::bad_argument, "the input has rank %d, not 2 or more", x.shape.rank);
  if (k.present() && k.elements() != 1)
    return Status::error(Code::bad_argument, "k must be one number");
  const bool upper = c.attributes.integer("upper", 1) != 0;
  const std::int64_t columns = x.shape.back(), rows = x.shape[x.shape.rank - 2];
  const std::int64_t shift = k.present() ? std::clamp(int_at(k, 0), -rows - 1, columns + 1) : 0;
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  if (x.bytes() > 0) std::memset(y.data, 0, y.bytes());
  const auto size = static_cast<std::int64_t>(size_bytes(x.dtype));
  for (std::int64_t r = 0, all = x.shape.product(0, x.shape.rank - 1); r < all; r++) {
    const std::int64_t border =
        std::clamp<std::int64_t>(r % rows + shift + (upper ? 0 : 1), 0, columns);
    const std::int64_t from = upper ? border : 0, to = upper ? columns : border;
    if (to > from)
      std::memcpy(y.as<std::byte>() + (r * columns + from) * size,
                  x.as<std::byte>() + (r * columns + from) * size,
                  static_cast<std::size_t>((to - from) * size));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Trilu",
    .doc =
        "The upper (or lower) triangle of each matrix from the k-th diagonal on; zeros elsewhere.",
    .since = 14,
    .schema = {.inputs = {{"input", type_set::any, "T"},
                          {"k", type_set::int64, {}, Presence::optional}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"upper"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[2,3,N]) { y = Trilu(x, i64[]{1}) return y }",
                 "(x: i64[3,3]) { y = Trilu(x, upper=0) return y }"},
};

}  // namespace longshore::ops::op_trilu
