#include "ops/recurrent.hpp"

namespace longshore::ops::op_gru {
namespace {

std::size_t scratch(const ScratchContext& c) noexcept { return recurrent_scratch(c, 3); }

template <class T>
Status run(EvalContext& c, const RecurrentShape& s, std::span<const CellActivation> activations,
           bool reset_last) noexcept {
  using A = Compute<T>;
  return run_recurrent<T>(c, s, activations, 0, 0, [reset_last](CellState<T>& cell, const T* x) {
    const std::int64_t n = cell.hidden;
    A *update = cell.gates, *reset = update + n, *fresh = reset + n;  // order zrh
    for (std::int64_t row = 0; row < 2 * n; row++)
      cell.gates[row] = cell.act(0, cell.from_x(x, row) + cell.from_h(row, cell.h) +
                                        cell.bias_w(row) + cell.bias_r(row, 3));
    // The reset gate weighs the state before the product, or (linear_before_reset) the product.
    for (std::int64_t j = 0; j < n; j++) cell.spare[j] = reset[j] * cell.h[j];
    for (std::int64_t j = 0; j < n; j++) {
      const std::int64_t row = 2 * n + j;
      const A inner = reset_last ? reset[j] * (cell.from_h(row, cell.h) + cell.bias_r(row, 3))
                                 : cell.from_h(row, cell.spare) + cell.bias_r(row, 3);
      fresh[j] = cell.act(1, cell.from_x(x, row) + inner + cell.bias_w(row));
    }
    for (std::int64_t j = 0; j < n; j++)
      cell.h[j] = (A{1} - update[j]) * fresh[j] + update[j] * cell.h[j];
  });
}

Status eval(EvalContext& c) noexcept {
  RecurrentShape s;
  LONGSHORE_TRY(recurrent_shape(c, 3, s));
  constexpr std::string_view defaults[] = {"Sigmoid", "Tanh"};
  CellActivation activations[6];
  LONGSHORE_TRY(cell_activations(c.attributes, s.directions, defaults, activations));
  Status status;
  visit_type(FloatTypes{}, c.input(0).dtype, [&]<class T>() {
    status = run<T>(c, s, {activations, 4}, c.attributes.integer("linear_before_reset", 0) != 0);
  });
  return status;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GRU",
    .doc = "Gated recurrent unit over a sequence, in one or both directions. Gate order zrh.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"W", type_set::float_types, "T"},
                          {"R", type_set::float_types, "T"},
                          {"B", type_set::float_types, "T", Presence::optional},
                          {"sequence_lens", types(DType::i32), {}, Presence::optional},
                          {"initial_h", type_set::float_types, "T", Presence::optional}},
               .outputs = {{"Y", type_set::float_types, "T", Presence::optional},
                           {"Y_h", type_set::float_types, "T", Presence::optional}},
               .attributes = {{"activation_alpha", AttributeKind::reals},
                              {"activation_beta", AttributeKind::reals},
                              {"activations", AttributeKind::texts},
                              {"clip", AttributeKind::real},
                              {"direction", AttributeKind::text},
                              {"hidden_size"},
                              {"layout"},
                              {"linear_before_reset"}}},
    .infer = infer_recurrent,
    .scratch = scratch,
    .eval = eval,
    .macs = recurrent_macs,
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples = {"(x: f32[3,N,4], w: f32[1,9,4], r: f32[1,9,3], b: f32[1,18]) { y, h = GRU(x, w, "
                 "r, b, hidden_size=3, "
                 "linear_before_reset=1) return y, h }",
                 "(x: f64[2,3,1], w: f64[2,6,1], r: f64[2,6,2], h: f64[2,2,2]) { y = GRU(x, w, r, "
                 "_, _, h, layout=1, "
                 "direction=\"bidirectional\") return y }"},
};

}  // namespace longshore::ops::op_gru
