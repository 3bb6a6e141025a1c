// What RNN, GRU and LSTM share: dims, activations, and the walk over directions, batch and time.
#pragma once
#include <cctype>
#include <cmath>

#include "ops/movement.hpp"

namespace longshore::ops {

/// An activation of a recurrent cell with its parameters.
struct CellActivation {
  enum class Kind : std::uint8_t {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus
  } kind = Kind::sigmoid;
  float alpha = 0, beta = 0;

  template <class A>
  A operator()(A x) const {
    const auto a = static_cast<A>(alpha), b = static_cast<A>(beta);
    switch (kind) {
      case Kind::sigmoid:
        return A{1} / (A{1} + std::exp(-x));
      case Kind::tanh:
        return std::tanh(x);
      case Kind::relu:
        return x < 0 ? A{0} : x;
      case Kind::affine:
        return a * x + b;
      case Kind::leaky_relu:
        return x < 0 ? a * x : x;
      case Kind::thresholded_relu:
        return x > a ? x : A{0};
      case Kind::scaled_tanh:
        return a * std::tanh(b * x);
      case Kind::hard_sigmoid:
        return std::min(std::max(a * x + b, A{0}), A{1});
      case Kind::elu:
        return x < 0 ? a * (std::exp(x) - A{1}) : x;
      case Kind::softsign:
        return x / (A{1} + std::fabs(x));
      case Kind::softplus:
        return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    }
    return x;
  }
};

/// The activations of all directions, `each` for one: those given, else `defaults` for each
/// direction. Parameters are consumed in order by the activations that have them.
Status cell_activations(const Attributes& a, int directions,
                        std::span<const std::string_view> defaults,
                        CellActivation (&out)[6]) noexcept;

/// Dims of a recurrent layer with `gates` gates; inputs X, W, R, B, sequence_lens, initial_h.
struct RecurrentShape {
  std::int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1, gates = 1;
  bool reverse_first = false, batch_first = false;

  bool reverse(int direction) const { return direction == 1 || reverse_first; }
  /// First element of x at time t.
  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (batch_first ? b * steps + t : t * batch + b) * input;
  }
  std::int64_t y_at(std::int64_t t, int d, std::int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }
  std::int64_t state_at(int d, std::int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
  Shape y_dims() const {
    return batch_first ? Shape{batch, steps, directions, hidden}
                       : Shape{steps, directions, batch, hidden};
  }
  Shape state_dims() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
};

Status directions_of(const Attributes& a, int& directions, bool& reverse_first) noexcept;

Status recurrent_shape(const EvalContext& c, int gates, RecurrentShape& s) noexcept;

void infer_recurrent(InferContext& c);

/// Room for the gates, a spare vector, and the states h and c of one sequence.
std::size_t recurrent_scratch(const ScratchContext& c, int gates) noexcept;

/// Four partial sums: element i belongs to sum i % 4.
template <class A, class T, class U>
A dot(const T* a, const U* b, std::int64_t n) {
  A sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) sums[k] += static_cast<A>(a[i + k]) * static_cast<A>(b[i + k]);
  for (; i < n; i++) sums[i % 4] += static_cast<A>(a[i]) * static_cast<A>(b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// One sequence in one direction, as the cell sees it.
template <class T>
struct CellState {
  using A = Compute<T>;
  const T *w, *r, *b, *p;  // of this direction; b and p may be null
  const CellActivation* f;
  A clip;  // > 0: bound of what activations see
  std::int64_t input, hidden;
  A *gates, *spare, *h, *c;

  /// x W^T of gate row `row`, with both biases where wanted.
  A from_x(const T* x, std::int64_t row) const { return dot<A>(w + row * input, x, input); }
  A from_h(std::int64_t row, const A* state) const {
    return dot<A>(r + row * hidden, state, hidden);
  }
  A bias_w(std::int64_t row) const { return b ? static_cast<A>(b[row]) : A{0}; }
  A bias_r(std::int64_t row, int gate_count) const {
    return b ? static_cast<A>(b[gate_count * hidden + row]) : A{0};
  }
  A act(int which, A x) const {
    if (clip > 0) x = x > clip ? clip : x < -clip ? -clip : x;
    return f[which](x);
  }
};

/// Calls step(cell, x) for each time step of each sequence and writes Y, Y_h (and Y_c).
/// `peephole` is the input number of P, `cell_in` that of initial_c, or 0.
template <class T, class Step>
Status run_recurrent(EvalContext& c, const RecurrentShape& s,
                     std::span<const CellActivation> activations, std::size_t cell_in,
                     std::size_t peephole, Step&& step) noexcept {
  using A = Compute<T>;
  const std::int64_t hidden = s.hidden, rows = s.gates * hidden;
  if (c.scratch.size() < static_cast<std::size_t>(rows + 3 * hidden) * sizeof(A))
    return Status::error(Code::internal, "too little scratch memory");
  A* memory = reinterpret_cast<A*>(c.scratch.data());
  MutableView y, y_h, y_c;
  const auto wants = [&](std::size_t i) { return i < c.output_count() && c.wants(i); };
  if (wants(0)) LONGSHORE_TRY(c.output(0, s.y_dims(), y));
  if (wants(1)) LONGSHORE_TRY(c.output(1, s.state_dims(), y_h));
  if (cell_in > 0 && wants(2)) LONGSHORE_TRY(c.output(2, s.state_dims(), y_c));
  const auto part = [&](std::size_t i, std::int64_t offset) {
    return i > 0 && c.has(i) ? c.input(i).as<T>() + offset : nullptr;
  };
  for (int d = 0; d < s.directions; d++)
    for (std::int64_t b = 0; b < s.batch; b++) {
      CellState<T> cell{part(1, d * rows * s.input),
                        part(2, d * rows * hidden),
                        part(3, d * 2 * rows),
                        part(peephole, d * 3 * hidden),
                        activations.data() + static_cast<std::size_t>(d) * (activations.size() / 2),
                        static_cast<A>(c.attributes.real("clip", 0)),
                        s.input,
                        hidden,
                        memory,
                        memory + rows,
                        memory + rows + hidden,
                        memory + rows + 2 * hidden};
      const T *h0 = part(5, s.state_at(d, b)), *c0 = part(cell_in, s.state_at(d, b));
      for (std::int64_t j = 0; j < hidden; j++) {
        cell.h[j] = h0 ? static_cast<A>(h0[j]) : A{0};
        cell.c[j] = c0 ? static_cast<A>(c0[j]) : A{0};
      }
      const std::int64_t length = c.has(4) ? c.input(4).as<std::int32_t>()[b] : s.steps;
      for (std::int64_t k = 0; k < s.steps; k++) {
        const std::int64_t t = k >= length ? k : s.reverse(d) ? length - 1 - k : k;
        if (k < length) step(cell, c.input(0).as<T>() + s.x_at(t, b));
        for (std::int64_t j = 0; j < hidden && y.data; j++)
          y.as<T>()[s.y_at(t, d, b) + j] = static_cast<T>(k < length ? cell.h[j] : A{0});
      }
      for (std::int64_t j = 0; j < hidden; j++) {
        if (y_h.data) y_h.as<T>()[s.state_at(d, b) + j] = static_cast<T>(cell.h[j]);
        if (y_c.data) y_c.as<T>()[s.state_at(d, b) + j] = static_cast<T>(cell.c[j]);
      }
    }
  return {};
}

/// Multiply-accumulates of a layer.
std::int64_t recurrent_macs(const NodeTypes& n);

}  // namespace longshore::ops
