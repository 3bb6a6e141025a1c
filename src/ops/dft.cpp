#include <cmath>
#include <numbers>

#include "ops/movement.hpp"

namespace longshore::ops::op_dft {
namespace {

// Before 20, the axis is an attribute whose default is 1.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset >= 20) return;
  const std::int64_t axis = n.attributes.integer("axis", 1);
  n.attributes.erase("axis");
  n.inputs.resize(3, no_value);
  n.inputs[2] = r.constant(make_int(axis));
}

struct Plan {
  int axis = 0;
  std::int64_t length = 0;  // of the transform
  bool inverse = false, onesided = false;
  Shape out;
};

/// `given` is dft_length, -1 where it is absent.
Status plan_of(const Attributes& a, const Shape& x, std::int64_t axis, std::int64_t given,
               Plan& p) noexcept {
  p.inverse = a.integer("inverse", 0) != 0;
  p.onesided = a.integer("onesided", 0) != 0;
  if (x.rank < 2 || (x.back() != 1 && x.back() != 2))
    return Status::error(Code::bad_argument,
                         "the last axis must hold one real or two complex parts");
  p.axis = resolve_axis(axis, x.rank);
  if (p.axis < 0 || p.axis == x.rank - 1) return axis_out_of_range(axis, x.rank);
  const bool half_in = p.inverse && p.onesided;
  if (half_in && x.back() != 2)
    return Status::error(Code::bad_argument, "a one-sided inverse needs complex input");
  p.length = given >= 0 ? given : half_in ? 2 * (x[p.axis] - 1) : x[p.axis];
  if (p.length < 1 || p.length > 1 << 24)
    return Status::error(Code::bad_argument, "a transform of length %lld",
                         static_cast<long long>(p.length));
  p.out = x;
  p.out[p.axis] = p.onesided && !p.inverse ? p.length / 2 + 1 : p.length;
  p.out[x.rank - 1] = half_in ? 1 : 2;
  return {};
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  const std::optional<Shape> shape = x.shape();
  const std::optional<Ints> length = c.integers(1), axis = c.integers(2);
  if (!shape || (c.has(1) && (!length || length->size() != 1)) ||
      (c.has(2) && (!axis || axis->size() != 1))) {
    c.output(0, x.ranked ? unknown_dims(x.dtype, x.rank()) : x);
    return;
  }
  Plan p;
  if (const Status s =
          plan_of(c.attributes(), *shape, axis ? (*axis)[0] : -2, length ? (*length)[0] : -1, p);
      !s.ok())
    c.fail(s.text());
  c.output(0, {x.dtype, p.out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  for (std::size_t i : {1u, 2u})
    if (c.has(i) && c.input(i).elements() != 1)
      return Status::error(Code::bad_argument, "dft_length and axis must be scalars");
  Plan p;
  LONGSHORE_TRY(plan_of(c.attributes, x.shape, c.has(2) ? int_at(c.input(2), 0) : -2,
                        c.has(1) ? std::max<std::int64_t>(0, int_at(c.input(1), 0)) : -1, p));
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.out, y));
  const std::int64_t outer = x.shape.product(0, p.axis),
                     inner = x.shape.product(p.axis + 1, x.shape.rank - 1);
  const std::int64_t in = x.shape[p.axis], out = p.out[p.axis], parts_in = x.shape.back(),
                     parts_out = p.out.back();
  const double turn = (p.inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(p.length);
  visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t o = 0; o < outer; o++)
      for (std::int64_t i = 0; i < inner; i++)
        for (std::int64_t k = 0; k < out; k++) {
          double real = 0, imaginary = 0;
          for (std::int64_t t = 0; t < p.length; t++) {
            // Beyond the input there are zeros; of a one-sided spectrum the rest is the mirrored
            // conjugate.
            const bool mirrored = p.inverse && p.onesided && t > p.length / 2;
            const std::int64_t from = mirrored ? p.length - t : t;
            if (from >= in) continue;
            const T* at = x.as<T>() + ((o * in + from) * inner + i) * parts_in;
            const auto re = static_cast<double>(at[0]);
            double im = parts_in == 2 ? static_cast<double>(at[1]) : 0.0;
            if (mirrored) im = -im;
            const double angle = turn * static_cast<double>(k * t % p.length),
                         cosine = std::cos(angle), sine = std::sin(angle);
            real += re * cosine - im * sine;
            imaginary += re * sine + im * cosine;
          }
          const double scale = p.inverse ? 1.0 / static_cast<double>(p.length) : 1.0;
          T* to = y.as<T>() + ((o * out + k) * inner + i) * parts_out;
          to[0] = static_cast<T>(real * scale);
          if (parts_out == 2) to[1] = static_cast<T>(imaginary * scale);
        }
  });
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "DFT",
    .doc =
        "The discrete Fourier transform along an axis, or its inverse; the last axis holds real "
        "and imaginary part.",
    .since = 20,
    .schema = {.inputs = {{"input", type_set::float_types, "T1"},
                          {"dft_length", type_set::indices, {}, Presence::optional},
                          {"axis", type_set::int64, {}, Presence::optional}},
               .outputs = {{"output", type_set::float_types, "T1"}},
               .attributes = {{"axis"}, {"inverse"}, {"onesided"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples = {"(x: f32[2,5,1]) { y = DFT(x, onesided=1) return y }",
                 "(x: f64[2,3,4,2]) { y = DFT(x, i64[]{6}, i64[]{1}, inverse=1) return y }"},
};

}  // namespace longshore::ops::op_dft
