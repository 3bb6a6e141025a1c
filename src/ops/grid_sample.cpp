#include <cmath>

#include "ops/movement.hpp"

namespace longshore::ops::op_grid_sample {
namespace {

enum class Mode : std::uint8_t { nearest, linear, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };
struct Options {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

// Before 20, linear was called bilinear and cubic bicubic.
void normalise(Node& n, int opset, Rewriter&) {
  if (opset >= 20) return;
  const std::string_view mode = n.attributes.text("mode", "bilinear");
  if (mode == "bilinear") n.attributes.set("mode", std::string("linear"));
  if (mode == "bicubic") n.attributes.set("mode", std::string("cubic"));
}

Status options_of(const Attributes& a, Options& o) noexcept {
  const std::string_view mode = a.text("mode", "linear"), padding = a.text("padding_mode", "zeros");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return Status::error(Code::unsupported, "mode '%.30s'; it may be nearest, linear or cubic",
                         mode.data());
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return Status::error(Code::unsupported,
                         "padding_mode '%.30s'; it may be zeros, border or reflection",
                         padding.data());
  o.mode = mode == "nearest" ? Mode::nearest : mode == "linear" ? Mode::linear : Mode::cubic;
  o.padding = padding == "zeros"    ? Padding::zeros
              : padding == "border" ? Padding::border
                                    : Padding::reflection;
  o.align_corners = a.integer("align_corners", 0) != 0;
  return {};
}

void infer(InferContext& c) {
  Options options;
  if (const Status s = options_of(c.attributes(), options); !s.ok()) c.fail(s.text());
  const TensorType x = c.input(0), grid = c.input(1);
  if (!x.ranked || !grid.ranked) {
    c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  const std::size_t rank = x.dims.size();
  if (rank < 3 || rank > 5 || grid.dims.size() != rank)
    c.fail("its inputs have ranks " + std::to_string(rank) + " and " + std::to_string(grid.rank()));
  if (const Dim& last = grid.dims.back();
      last.known() && last.value != static_cast<std::int64_t>(rank) - 2)
    c.fail("its grid has " + std::to_string(last.value) + " coordinates, its input " +
           std::to_string(rank - 2) + " spatial axes");
  Dims out = {x.dims[0], x.dims[1]};
  out.insert(out.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  c.output(0, {x.dtype, out});
}

/// Mirrors at the borders until inside.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  double away = std::fmod(std::fabs(x - low), 2 * range);
  return away > range ? high - (away - range) : low + away;
}

/// The inputs that one coordinate reads: -1 is a zero.
struct Taps {
  int count = 0;
  std::int64_t at[4] = {};
  double weight[4] = {};
};

Taps taps_at(const Options& o, double x, std::int64_t size) {
  const double low = o.align_corners ? 0.0 : -0.5, high = o.align_corners
                                                              ? static_cast<double>(size - 1)
                                                              : static_cast<double>(size) - 0.5;
  x = o.align_corners ? (x + 1) / 2 * static_cast<double>(size - 1)
                      : ((x + 1) * static_cast<double>(size) - 1) / 2;
  if (!(std::fabs(x) < 1e9)) x = -1e9;  // NaN and the far outside
  if (o.mode == Mode::nearest) x = std::nearbyint(x);
  if (x < low || x > high) {
    if (o.padding == Padding::border) x = std::clamp(x, 0.0, static_cast<double>(size - 1));
    if (o.padding == Padding::reflection) x = reflect(x, low, high);
  }
  const auto pixel = [&](std::int64_t i) -> std::int64_t {
    if (i >= 0 && i < size) return i;
    if (o.padding == Padding::zeros) return -1;
    if (o.padding == Padding::border) return std::clamp<std::int64_t>(i, 0, size - 1);
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(reflect(static_cast<double>(i), low, high)), 0, size - 1);
  };
  Taps t;
  const double floor = std::floor(x), f = x - floor;
  const auto base = static_cast<std::int64_t>(floor);
  if (o.mode == Mode::nearest) {
    t = {1, {pixel(base)}, {1}};
  } else if (o.mode == Mode::linear) {
    t = {2, {pixel(base), pixel(base + 1)}, {1 - f, f}};
  } else {
    constexpr double a = -0.75;
    const auto outer = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const auto inner = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    t = {4,
         {pixel(base - 1), pixel(base), pixel(base + 1), pixel(base + 2)},
         {outer(f + 1), inner(f), inner(1 - f), outer(2 - f)}};
  }
  return t;
}

/// The weighted sum over axes [axis, count).
template <class T>
double weigh(const T* x, const Shape& dims, const Taps* taps, int axis, std::int64_t at) {
  if (axis == dims.rank) return static_cast<double>(x[at]);
  double sum = 0;
  for (int k = 0; k < taps[axis].count; k++)
    if (taps[axis].at[k] >= 0)
      sum +=
          taps[axis].weight[k] * weigh(x, dims, taps, axis + 1, at * dims[axis] + taps[axis].at[k]);
  return sum;
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &grid = c.input(1);
  Options options;
  LONGSHORE_TRY(options_of(c.attributes, options));
  const int spatial = x.shape.rank - 2;
  if (spatial < 1 || spatial > 3 || grid.shape.rank != x.shape.rank ||
      grid.shape.back() != spatial || grid.shape[0] != x.shape[0])
    return Status::error(Code::bad_argument, "the grid does not fit the input");
  Shape dims{x.shape[0], x.shape[1]}, plane;
  for (int i = 0; i < spatial; i++) {
    dims.push(grid.shape[1 + i]);
    plane.push(x.shape[2 + i]);
  }
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t points = dims.product(2, dims.rank), area = plane.elements();
  if (area == 0 && y.elements() > 0)
    return Status::error(Code::bad_argument, "the input has no elements to sample");
  visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t n = 0; n < dims[0]; n++)
      for (std::int64_t p = 0; p < points; p++) {
        Taps taps[3];
        visit_type(FloatTypes{}, grid.dtype, [&]<class G>() {
          for (int i = 0; i < spatial; i++)  // coordinates come in reverse order: x, y, z
            taps[i] = taps_at(
                options,
                static_cast<double>(grid.as<G>()[(n * points + p) * spatial + spatial - 1 - i]),
                plane[i]);
        });
        for (std::int64_t k = 0; k < dims[1]; k++)
          y.as<T>()[(n * dims[1] + k) * points + p] =
              static_cast<T>(weigh(x.as<T>() + (n * dims[1] + k) * area, plane, taps, 0, 0));
      }
  });
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GridSample",
    .doc =
        "Reads the input at the positions of a grid, in -1..1 along each axis, by interpolation.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T1"},
                          {"grid", type_set::float_types, "T2"}},
               .outputs = {{"Y", type_set::float_types, "T1"}},
               .attributes = {{"align_corners"},
                              {"mode", AttributeKind::text},
                              {"padding_mode", AttributeKind::text}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[N,2,4,5], g: f32[N,3,2,2]) { y = GridSample(x, g, mode=\"cubic\", "
                 "padding_mode=\"reflection\") return y }",
                 "(x: f16[1,1,2,3,4], g: f16[1,2,2,2,3]) { y = GridSample(x, g, align_corners=1, "
                 "padding_mode=\"border\") return y }"},
};

}  // namespace longshore::ops::op_grid_sample
