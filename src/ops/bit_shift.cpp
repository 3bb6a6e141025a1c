#include "ops/elementwise.hpp"

namespace longshore::ops::op_bit_shift {
namespace {

using Types = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

Status eval(EvalContext& c) noexcept {
  const std::string_view direction = c.attributes.text("direction");
  const bool left = direction == "LEFT";
  if (!left && direction != "RIGHT")
    return Status::error(Code::bad_model, "direction is 'LEFT' or 'RIGHT'");
  return eval_binary_with<Types, void>(c, [=](auto a, auto b, Status&) {
    const std::uint64_t bits = a;
    if (b >= sizeof(a) * 8) return std::uint64_t{0};
    return left ? bits << b : bits >> b;
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "BitShift",
    .doc = "a shifted left or right by b bits; a shift by the width or more gives 0.",
    .since = 11,
    .schema = {.inputs = {{"A", type_set::unsigned_types, "T"},
                          {"B", type_set::unsigned_types, "T"}},
               .outputs = {{"C", type_set::unsigned_types, "T"}},
               .attributes = {{"direction", AttributeKind::text, true}}},
    .infer = infer_broadcast,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(a: u8[2,3], b: u8[3]) { y = BitShift(a, b, direction=\"LEFT\") return y }"},
};

}  // namespace longshore::ops::op_bit_shift
