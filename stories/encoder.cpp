#include "encoder.hpp"

#include <fmt/format.h>

namespace longshore::stories {
namespace {

// Weights of projections differ, as in a model: equal ones are one node to the optimiser.
constexpr std::string_view block = R"(
  q{n}: {rows} = MatMul(x{n}, {square} {{1}})
  k{n}: {rows} = MatMul(x{n}, {square} {{2}})
  v{n}: {rows} = MatMul(x{n}, {square} {{3}})
  q_parts{n}: {parts} = Reshape(q{n}, {parts_shape})
  k_parts{n}: {parts} = Reshape(k{n}, {parts_shape})
  v_parts{n}: {parts} = Reshape(v{n}, {parts_shape})
  q_heads{n}: {heads} = Transpose(q_parts{n}, perm=[0,2,1,3])
  k_heads{n}: {turned} = Transpose(k_parts{n}, perm=[0,2,3,1])
  v_heads{n}: {heads} = Transpose(v_parts{n}, perm=[0,2,1,3])
  scores{n}: {scores} q(0.05, 0) = MatMul(q_heads{n}, k_heads{n})
  shares{n}: {scores} q(0.00390625, -128) = Softmax(scores{n})
  context_heads{n}: {heads} = MatMul(shares{n}, v_heads{n})
  context_parts{n}: {parts} = Transpose(context_heads{n}, perm=[0,2,1,3])
  context{n}: {rows} = Reshape(context_parts{n}, {rows_shape})
  mixed{n}: {rows} = MatMul(context{n}, {square} {{1}})
  middle{n}: {rows} = Add(x{n}, mixed{n})
  wide{n}: {inner} = MatMul(middle{n}, {widens} {{1}})
  bent{n}: {inner} = Gelu(wide{n})
  narrow{n}: {rows} = MatMul(bent{n}, {narrows} {{1}})
  x{next}: {rows} = Add(middle{n}, narrow{n}))";

}  // namespace

std::string text(const Encoder& e, const std::string& also) {
  const int t = e.tokens, f = e.features, h = e.heads, d = f / h;
  const std::string codes = " q(0.05, 0)";
  const auto value = [](const std::string& dims) { return "i8[1," + dims + "]"; };
  const auto weights = [](int in, int out) { return fmt::format("i8[{},{}] q(0.01, 0)", in, out); };
  const std::string rows = value(fmt::format("{},{}", t, f)) + codes;
  std::string out = "(x0: " + rows + ") {";
  for (int n = 0; n < e.blocks; n++)
    out += fmt::format(fmt::runtime(block), fmt::arg("n", n), fmt::arg("next", n + 1),
                       fmt::arg("rows", rows),
                       fmt::arg("inner", value(fmt::format("{},{}", t, e.inner)) + codes),
                       fmt::arg("parts", value(fmt::format("{},{},{}", t, h, d)) + codes),
                       fmt::arg("heads", value(fmt::format("{},{},{}", h, t, d)) + codes),
                       fmt::arg("turned", value(fmt::format("{},{},{}", h, d, t)) + codes),
                       fmt::arg("scores", value(fmt::format("{0},{1},{1}", h, t))),
                       fmt::arg("parts_shape", fmt::format("i64[4]{{1,{},{},{}}}", t, h, d)),
                       fmt::arg("rows_shape", fmt::format("i64[3]{{1,{},{}}}", t, f)),
                       fmt::arg("square", weights(f, f)), fmt::arg("widens", weights(f, e.inner)),
                       fmt::arg("narrows", weights(e.inner, f)));
  return out + fmt::format("\n  return x{}{} }}\n", e.blocks, also);
}

}  // namespace longshore::stories
