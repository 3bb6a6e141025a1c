#include "ops/recurrent.hpp"

namespace longshore::ops::op_lstm {
namespace {

std::size_t scratch(const ScratchContext& c) noexcept { return recurrent_scratch(c, 4); }

template <class T>
Status run(EvalContext& c, const RecurrentShape& s, std::span<const CellActivation> activations,
           bool coupled) noexcept {
  using A = Compute<T>;
  return run_recurrent<T>(c, s, activations, 6, 7, [coupled](CellState<T>& cell, const T* x) {
    const std::int64_t n = cell.hidden;
    for (std::int64_t row = 0; row < 4 * n; row++)
      cell.gates[row] =
          cell.from_x(x, row) + cell.from_h(row, cell.h) + cell.bias_w(row) + cell.bias_r(row, 4);
    A *in = cell.gates, *out = in + n, *forget = out + n, *fresh = forget + n;  // order iofc
    const auto peep = [&](int gate, std::int64_t j, A state) {
      return cell.p ? static_cast<A>(cell.p[gate * n + j]) * state : A{0};
    };
    for (std::int64_t j = 0; j < n; j++) {
      const A i = cell.act(0, in[j] + peep(0, j, cell.c[j]));
      const A f = coupled ? A{1} - i : cell.act(0, forget[j] + peep(2, j, cell.c[j]));
      cell.c[j] = f * cell.c[j] + i * cell.act(1, fresh[j]);
      const A o = cell.act(0, out[j] + peep(1, j, cell.c[j]));
      cell.h[j] = o * cell.f[2](cell.c[j]);
    }
  });
}

Status eval(EvalContext& c) noexcept {
  RecurrentShape s;
  LONGSHORE_TRY(recurrent_shape(c, 4, s));
  if (c.has(6) && !(c.input(6).shape == s.state_dims()))
    return Status::error(Code::bad_argument, "initial_c does not have the dims of the state");
  if (c.has(7) && !(c.input(7).shape == Shape{s.directions, 3 * s.hidden}))
    return Status::error(Code::bad_argument, "P must be [directions, 3 * hidden]");
  constexpr std::string_view defaults[] = {"Sigmoid", "Tanh", "Tanh"};
  CellActivation activations[6];
  LONGSHORE_TRY(cell_activations(c.attributes, s.directions, defaults, activations));
  Status status;
  visit_type(FloatTypes{}, c.input(0).dtype, [&]<class T>() {
    status = run<T>(c, s, activations, c.attributes.integer("input_forget", 0) != 0);
  });
  return status;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LSTM",
    .doc = "Long short-term memory over a sequence, in one or both directions. Gate order iofc.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"W", type_set::float_types, "T"},
                          {"R", type_set::float_types, "T"},
                          {"B", type_set::float_types, "T", Presence::optional},
                          {"sequence_lens", types(DType::i32), {}, Presence::optional},
                          {"initial_h", type_set::float_types, "T", Presence::optional},
                          {"initial_c", type_set::float_types, "T", Presence::optional},
                          {"P", type_set::float_types, "T", Presence::optional}},
               .outputs = {{"Y", type_set::float_types, "T", Presence::optional},
                           {"Y_h", type_set::float_types, "T", Presence::optional},
                           {"Y_c", type_set::float_types, "T", Presence::optional}},
               .attributes = {{"activation_alpha", AttributeKind::reals},
                              {"activation_beta", AttributeKind::reals},
                              {"activations", AttributeKind::texts},
                              {"clip", AttributeKind::real},
                              {"direction", AttributeKind::text},
                              {"hidden_size"},
                              {"input_forget"},
                              {"layout"}}},
    .infer = infer_recurrent,
    .scratch = scratch,
    .eval = eval,
    .macs = recurrent_macs,
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples = {"(x: f32[3,N,4], w: f32[2,12,4], r: f32[2,12,3], b: f32[2,24], h: f32[2,N,3], c: "
                 "f32[2,N,3], p: f32[2,9]) "
                 "{ y, yh, yc = LSTM(x, w, r, b, _, h, c, p, direction=\"bidirectional\", "
                 "hidden_size=3) return y, yh, yc }",
                 "(x: f16[2,3,1], w: f16[1,8,1], r: f16[1,8,2]) { _, h = LSTM(x, w, r, _, "
                 "i32[2]{1, 3}, layout=1, "
                 "direction=\"reverse\", clip=0.5, input_forget=1, "
                 "activations=[\"HardSigmoid\",\"ScaledTanh\",\"Relu\"], "
                 "activation_alpha=[0.3,1.5], activation_beta=[0.4,0.7]) return h }"},
};

}  // namespace longshore::ops::op_lstm
