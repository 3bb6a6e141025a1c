#include "ops/recurrent.hpp"

namespace longshore::ops::op_rnn {
namespace {

std::size_t scratch(const ScratchContext& c) noexcept { return recurrent_scratch(c, 1); }

Status eval(EvalContext& c) noexcept {
  RecurrentShape s;
  LONGSHORE_TRY(recurrent_shape(c, 1, s));
  constexpr std::string_view defaults[] = {"Tanh"};
  CellActivation activations[6];
  LONGSHORE_TRY(cell_activations(c.attributes, s.directions, defaults, activations));
  Status status;
  visit_type(FloatTypes{}, c.input(0).dtype, [&]<class T>() {
    status = run_recurrent<T>(c, s, {activations, 2}, 0, 0, [](CellState<T>& cell, const T* x) {
      for (std::int64_t j = 0; j < cell.hidden; j++)
        cell.gates[j] = cell.act(
            0, cell.from_x(x, j) + cell.from_h(j, cell.h) + cell.bias_w(j) + cell.bias_r(j, 1));
      std::copy_n(cell.gates, cell.hidden, cell.h);
    });
  });
  return status;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "RNN",
    .doc = "h = f(x W^T + h R^T + biases) over a sequence, in one or both directions.",
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
                              {"layout"}}},
    .infer = infer_recurrent,
    .scratch = scratch,
    .eval = eval,
    .macs = recurrent_macs,
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples = {"(x: f32[3,N,4], w: f32[1,3,4], r: f32[1,3,3], b: f32[1,6]) { y, h = RNN(x, w, r, "
                 "b, hidden_size=3) return y, h }"},
};

}  // namespace longshore::ops::op_rnn
