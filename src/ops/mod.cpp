#include "ops/elementwise.hpp"
#include "ops/divide.hpp"

namespace longshore::ops::op_mod {
namespace {

Status eval(EvalContext& c) noexcept {
  const bool sign_of_dividend = c.attributes.integer("fmod") != 0;
  return eval_binary_with<NumberTypes, void>(c, [=](auto a, auto b, Status& status) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>)
        if (b == T{-1}) return T{0};  // even of the smallest integer, which has no quotient
      if (!divides(a, b, status)) return T{0};
      const auto rest = static_cast<T>(a % b);
      const bool opposite = rest != 0 && (rest < 0) != (b < 0);
      return opposite && !sign_of_dividend ? static_cast<T>(rest + b) : rest;
    } else {
      if (!sign_of_dividend)
        status = Status::error(Code::bad_model, "Mod of floats needs fmod = 1");
      return std::fmod(a, b);
    }
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Mod",
    .doc = "The rest of a / b with the sign of b, or of a where fmod = 1. Floats need fmod = 1.",
    .since = 13,
    .schema = {.inputs = {{"A", type_set::numbers, "T"}, {"B", type_set::numbers, "T"}},
               .outputs = {{"C", type_set::numbers, "T"}},
               .attributes = {{"fmod"}}},
    .infer = infer_broadcast,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(a: f32[2,3,4], b: f32[3,1]) { y = Mod(a, b, fmod=1) return y }",
                 "(a: i32[2,3]) { y = Mod(a, i32[]{-3}) return y }"},
};

}  // namespace longshore::ops::op_mod
