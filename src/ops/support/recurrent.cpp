#include "ops/recurrent.hpp"

namespace longshore::ops {

Status cell_activations(const Attributes& a, int directions,
                        std::span<const std::string_view> defaults,
                        CellActivation (&out)[6]) noexcept {
  struct Row {
    std::string_view name;
    int parameters;
    float alpha, beta;
  };
  constexpr Row rows[] = {{"sigmoid", 0, 0, 0},       {"tanh", 0, 0, 0},
                          {"relu", 0, 0, 0},          {"affine", 2, 1, 0},
                          {"leakyrelu", 1, 0.01f, 0}, {"thresholdedrelu", 1, 1, 0},
                          {"scaledtanh", 2, 1, 1},    {"hardsigmoid", 2, 0.2f, 0.5f},
                          {"elu", 1, 1, 0},           {"softsign", 0, 0, 0},
                          {"softplus", 0, 0, 0}};
  const std::span<const std::string> given = a.texts("activations");
  const std::span<const float> alphas = a.reals("activation_alpha"),
                               betas = a.reals("activation_beta");
  const std::size_t count = defaults.size() * static_cast<std::size_t>(directions);
  if (!given.empty() && given.size() != count)
    return Status::error(Code::bad_model, "activations has %zu entries, not %zu", given.size(),
                         count);
  std::size_t next_alpha = 0, next_beta = 0;
  for (std::size_t i = 0; i < count; i++) {
    const std::string_view name =
        given.empty() ? defaults[i % defaults.size()] : std::string_view(given[i]);
    const Row* found = nullptr;
    for (const Row& row : rows)
      if (std::equal(
              name.begin(), name.end(), row.name.begin(), row.name.end(),
              [](char p, char q) { return std::tolower(static_cast<unsigned char>(p)) == q; }))
        found = &row;
    if (!found)
      return Status::error(Code::unsupported, "there is no cell activation '%.*s'",
                           static_cast<int>(std::min<std::size_t>(name.size(), 40)), name.data());
    out[i] = {static_cast<CellActivation::Kind>(found - rows), found->alpha, found->beta};
    if (found->parameters > 0 && next_alpha < alphas.size()) out[i].alpha = alphas[next_alpha++];
    if (found->parameters > 1 && next_beta < betas.size()) out[i].beta = betas[next_beta++];
  }
  return {};
}

Status directions_of(const Attributes& a, int& directions, bool& reverse_first) noexcept {
  const std::string_view text = a.text("direction", "forward");
  if (text != "forward" && text != "reverse" && text != "bidirectional")
    return Status::error(Code::bad_model,
                         "direction is '%.30s'; it may be forward, reverse or bidirectional",
                         text.data());
  directions = text == "bidirectional" ? 2 : 1;
  reverse_first = text == "reverse";
  return {};
}

Status recurrent_shape(const EvalContext& c, int gates, RecurrentShape& s) noexcept {
  LONGSHORE_TRY(directions_of(c.attributes, s.directions, s.reverse_first));
  s.gates = gates;
  s.batch_first = c.attributes.integer("layout", 0) != 0;
  const Shape &x = c.input(0).shape, &w = c.input(1).shape, &r = c.input(2).shape;
  if (x.rank != 3 || w.rank != 3 || r.rank != 3)
    return Status::error(Code::bad_argument, "X, W and R must have rank 3");
  s.steps = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = r[2];
  const auto check = [&](std::size_t i, const Shape& wanted, const char* what) -> Status {
    if (!c.has(i) || c.input(i).shape == wanted) return {};
    return Status::error(Code::bad_argument,
                         "%s does not have the dims that direction, hidden size and batch require",
                         what);
  };
  if (c.attributes.integer("hidden_size", s.hidden) != s.hidden)
    return Status::error(Code::bad_model, "hidden_size is %lld, R has %lld columns",
                         static_cast<long long>(c.attributes.integer("hidden_size")),
                         static_cast<long long>(s.hidden));
  const std::int64_t rows = gates * s.hidden;
  LONGSHORE_TRY(check(1, {s.directions, rows, s.input}, "W"));
  LONGSHORE_TRY(check(2, {s.directions, rows, s.hidden}, "R"));
  LONGSHORE_TRY(check(3, {s.directions, 2 * rows}, "B"));
  LONGSHORE_TRY(check(4, {s.batch}, "sequence_lens"));
  LONGSHORE_TRY(check(5, s.state_dims(), "initial_h"));
  if (c.has(4))
    for (std::int64_t b = 0; b < s.batch; b++)
      if (c.input(4).as<std::int32_t>()[b] < 0 || c.input(4).as<std::int32_t>()[b] > s.steps)
        return Status::error(Code::bad_argument,
                             "sequence_lens has the entry %d, there are %lld steps",
                             c.input(4).as<std::int32_t>()[b], static_cast<long long>(s.steps));
  return {};
}

void infer_recurrent(InferContext& c) {
  int directions = 1;
  bool reverse_first = false;
  if (const Status s = directions_of(c.attributes(), directions, reverse_first); !s.ok())
    c.fail(s.text());
  const TensorType x = c.input(0), r = c.input(2);
  const bool batch_first = c.attributes().integer("layout", 0) != 0;
  Dim hidden;
  if (c.attributes().has("hidden_size")) {
    if (c.attributes().integer("hidden_size") < 0) c.fail("hidden_size is negative");
    hidden = Dim(c.attributes().integer("hidden_size"));
  } else if (r.ranked && r.rank() == 3) {
    hidden = r.dims[2];
  }
  if (x.ranked && x.rank() != 3)
    c.fail("its input X has rank " + std::to_string(x.rank()) + ", not 3");
  const Dim first = x.ranked ? x.dims[0] : Dim(), second = x.ranked ? x.dims[1] : Dim();
  const Dim d(directions);
  c.output(
      0, {x.dtype, batch_first ? Dims{first, second, d, hidden} : Dims{first, d, second, hidden}});
  const Dims state = batch_first ? Dims{first, d, hidden} : Dims{d, second, hidden};
  c.output(1, {x.dtype, state});
  c.output(2, {x.dtype, state});
}

std::size_t recurrent_scratch(const ScratchContext& c, int gates) noexcept {
  const Shape& r = c.inputs[2].shape;
  return r.rank == 3 ? static_cast<std::size_t>((gates + 3) * r[2]) * sizeof(double) : 0;
}

std::int64_t recurrent_macs(const NodeTypes& n) {
  const std::optional<Shape> x = n.input(0).shape(), w = n.input(1).shape(), r = n.input(2).shape();
  return x && w && r && x->rank == 3 ? (*x)[0] * (*x)[1] * (w->elements() + r->elements()) : 0;
}

}  // namespace longshore::ops
