#include "ops/resize.hpp"

#include "ir/quantised.hpp"

namespace longshore::ops::op_resize {
extern const OpDef definition;
namespace {

// Opset 10 had (X, scales), asymmetric coordinates and floor.
void normalise(Node& n, int opset, Rewriter&) {
  if (opset >= 11) return;
  n.inputs = {n.input(0), no_value, n.input(1)};
  n.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  n.attributes.set("nearest_mode", std::string("floor"));
}

/// What roi, scales and sizes say, spread over all axes. A list of length 0 is absent.
struct Wanted {
  std::span<const float> roi, scales;
  IntList sizes;
  bool has_scales = false, has_sizes = false;
};

Status fill_axes(const Attributes& a, const ResizeMode& m, const Shape& x, const Wanted& wanted,
                 ResizeAxis (&axes)[max_rank]) noexcept {
  const std::span<const std::int64_t> listed = a.integers("axes");
  const bool subset = a.has("axes") && !listed.empty();
  const std::size_t n = subset ? listed.size() : static_cast<std::size_t>(x.rank);
  if (wanted.has_scales == wanted.has_sizes)
    return Status::error(Code::bad_argument, "exactly one of scales and sizes must be given");
  if ((wanted.has_scales && wanted.scales.size() != n) ||
      (wanted.has_sizes && static_cast<std::size_t>(wanted.sizes.count) != n))
    return Status::error(
        Code::bad_argument, "%s has %zu entries, not %zu", wanted.has_scales ? "scales" : "sizes",
        wanted.has_scales ? wanted.scales.size() : static_cast<std::size_t>(wanted.sizes.count), n);
  const bool crop = m.where == ResizeMode::Where::tf_crop_and_resize;
  if (crop && wanted.roi.size() != 2 * n)
    return Status::error(Code::bad_argument, "roi has %zu entries, not %zu", wanted.roi.size(),
                         2 * n);
  for (int i = 0; i < x.rank; i++) axes[i].in = axes[i].out = x[i];
  const auto axis_of = [&](std::size_t i) {
    return subset ? resolve_axis(listed[i], x.rank) : static_cast<int>(i);
  };
  float common = 0;  // the scale that keeps the aspect ratio
  for (std::size_t i = 0; i < n; i++) {
    const int axis = axis_of(i);
    if (axis < 0) return axis_out_of_range(listed[i], x.rank);
    ResizeAxis& r = axes[axis];
    if (crop) r.start = wanted.roi[i], r.end = wanted.roi[n + i];
    double out = 0;
    if (wanted.has_scales) {
      r.scale = wanted.scales[i];
      if (!(r.scale > 0))
        return Status::error(Code::bad_argument, "scale %g of axis %d is not positive",
                             static_cast<double>(r.scale), axis);
      const float length = crop ? static_cast<float>(r.in) * (r.end - r.start) * r.scale
                                : static_cast<float>(r.in) * r.scale;
      out = std::floor(static_cast<double>(length));
    } else {
      out = static_cast<double>(wanted.sizes[static_cast<int>(i)]);
      const float scale = r.in > 0 ? static_cast<float>(wanted.sizes[static_cast<int>(i)]) /
                                         static_cast<float>(r.in)
                                   : 1.0f;
      const bool better =
          i == 0 || (m.policy == ResizeMode::Policy::not_larger ? scale < common : scale > common);
      if (better) common = scale;
      r.scale = scale;
    }
    if (!(out >= 0 && out < 1e12))
      return Status::error(Code::bad_argument, "axis %d would have %g elements", axis, out);
    r.out = static_cast<std::int64_t>(out);
  }
  if (wanted.has_sizes && m.policy != ResizeMode::Policy::stretch)
    for (std::size_t i = 0; i < n; i++) {
      ResizeAxis& r = axes[axis_of(i)];
      r.scale = common;
      r.out = static_cast<std::int64_t>(std::floor(common * static_cast<float>(r.in) + 0.5f));
    }
  for (int i = 0; i < x.rank; i++)
    if (axes[i].in == 0 && axes[i].out > 0)
      return Status::error(Code::bad_argument, "axis %d is empty and cannot be enlarged", i);
  return {};
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  ResizeMode mode;
  if (const Status s = ResizeMode::from(c.attributes(), mode); !s.ok()) c.fail(s.text());
  if (!x.ranked) {
    c.output(0, x);
    return;
  }
  // Axes that are known one by one: dims may be unknown while scales or sizes are constants.
  const Tensor* scales = c.constant(2);
  const std::optional<Ints> sizes = c.integers(3);
  const Tensor* roi = c.constant(1);
  const bool no_scales = !c.has(2) || (scales && scales->elements() == 0),
             no_sizes = !c.has(3) || (sizes && sizes->empty());
  Dims out(x.dims.size());
  const std::optional<Shape> shape = x.shape();
  const bool crop = mode.where == ResizeMode::Where::tf_crop_and_resize;
  Wanted wanted;
  wanted.has_scales = !no_scales, wanted.has_sizes = !no_sizes;
  const bool known = (no_scales || (scales && scales->dtype == DType::f32)) &&
                     (no_sizes || sizes) && (!crop || (roi && roi->dtype == DType::f32));
  if (known) {
    if (!no_scales) wanted.scales = scales->values<float>();
    if (!no_sizes) {
      if (sizes->size() > max_rank)
        c.fail("sizes has " + std::to_string(sizes->size()) + " entries");
      for (std::int64_t d : *sizes) wanted.sizes.values[wanted.sizes.count++] = d;
    }
    if (crop) wanted.roi = roi->values<float>();
    Shape assumed;  // 1 where unknown: checks the lists
    for (const Dim& d : x.dims) assumed.push(d.known() ? d.value : 1);
    ResizeAxis axes[max_rank];
    if (const Status s = fill_axes(c.attributes(), mode, assumed, wanted, axes); !s.ok())
      c.fail(s.text());
    const bool coupled = wanted.has_sizes && mode.policy != ResizeMode::Policy::stretch;
    for (std::size_t i = 0; i < out.size(); i++) {
      const bool untouched = axes[i].scale == 1 && !crop && wanted.has_scales;
      if (shape || (x.dims[i].known() && !coupled) ||
          (wanted.has_sizes && !coupled && axes[i].out != 1))
        out[i] = Dim(axes[i].out);
      else if (untouched)
        out[i] = x.dims[i];
    }
  }
  c.output(0, {x.dtype, out});
}

/// Calls f(output position, the taps of every axis) in row-major order.
template <class F>
void for_each_output(const ResizeMode& m, const ResizeAxis (&axes)[max_rank], const Shape& dims,
                     F&& f) {
  if (dims.elements() == 0) return;
  ResizeTaps taps[max_rank];
  Shape at = dims;
  for (int i = 0; i < dims.rank; i++) {
    at[i] = 0;
    taps[i].set(m, axes[i], 0);
  }
  for (std::int64_t o = 0;; o++) {
    f(o, taps);
    int i = dims.rank - 1;
    for (; i >= 0; i--) {
      at[i] = at[i] + 1 < dims[i] ? at[i] + 1 : 0;
      taps[i].set(m, axes[i], at[i]);
      if (at[i] != 0) break;
    }
    if (i < 0) return;
  }
}

/// The weighted sum over the taps of axes [axis, rank).
template <class T, class A>
A weigh(const T* x, const Shape& strides, const ResizeTaps* taps, int axis) {
  if (axis == strides.rank) return static_cast<A>(*x);
  const ResizeTaps& t = taps[axis];
  if (t.count() == 1) return weigh<T, A>(x + t.at(0) * strides[axis], strides, taps, axis + 1);
  A sum = 0;
  for (std::int64_t k = 0; k < t.count(); k++)
    sum += static_cast<A>(t.weight(k)) *
           weigh<T, A>(x + t.at(k) * strides[axis], strides, taps, axis + 1);
  return sum;
}

template <class T, class A>
T to_element(A value) {
  if constexpr (std::is_integral_v<T>) {
    if (value != value) return T{0};
    const auto low = static_cast<A>(std::numeric_limits<T>::lowest()),
               high = static_cast<A>(std::numeric_limits<T>::max());
    return value <= low    ? std::numeric_limits<T>::lowest()
           : value >= high ? std::numeric_limits<T>::max()
                           : static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  ResizeMode mode;
  LONGSHORE_TRY(ResizeMode::from(c.attributes, mode));
  const TensorView &roi = c.input(1), &scales = c.input(2), &sizes = c.input(3);
  Wanted wanted;
  float regions[2 * max_rank] = {};
  if (mode.where == ResizeMode::Where::tf_crop_and_resize && roi.present()) {
    if (roi.elements() > 2 * max_rank)
      return Status::error(Code::bad_argument, "roi has too many entries");
    visit_type(FloatTypes{}, roi.dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < roi.elements(); i++)
        regions[i] = static_cast<float>(roi.as<T>()[i]);
    });
    wanted.roi = {regions, static_cast<std::size_t>(roi.elements())};
  }
  wanted.has_scales = scales.present() && scales.elements() > 0;
  wanted.has_sizes = sizes.present() && sizes.elements() > 0;
  if (wanted.has_scales)
    wanted.scales = {scales.as<float>(), static_cast<std::size_t>(scales.elements())};
  if (wanted.has_sizes) LONGSHORE_TRY(read_ints(sizes, max_rank, "sizes", wanted.sizes));
  ResizeAxis axes[max_rank];
  LONGSHORE_TRY(fill_axes(c.attributes, mode, x.shape, wanted, axes));
  Shape dims = x.shape;
  for (int i = 0; i < dims.rank; i++) dims[i] = axes[i].out;
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const Shape strides = strides_of(x.shape);
  const auto any_outside = [&](const ResizeTaps* taps) {
    return std::any_of(taps, taps + dims.rank, [](const ResizeTaps& t) { return t.outside(); });
  };
  if (mode.kind == ResizeMode::Kind::nearest &&
      mode.where != ResizeMode::Where::tf_crop_and_resize) {
    const std::size_t size = size_bytes(x.dtype);
    for_each_output(mode, axes, dims, [&](std::int64_t o, const ResizeTaps* taps) {
      std::int64_t from = 0;
      for (int i = 0; i < dims.rank; i++) from += taps[i].at(0) * strides[i];
      copy_element(y.data, o, x.data, from, size);
    });
    return {};
  }
  const bool known = visit_type(NumberTypes{}, x.dtype, [&]<class T>() {
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for_each_output(mode, axes, dims, [&](std::int64_t o, const ResizeTaps* taps) {
      const A value = any_outside(taps) ? static_cast<A>(mode.extrapolation)
                                        : weigh<T, A>(x.as<T>(), strides, taps, 0);
      y.as<T>()[o] = to_element<T>(value);
    });
  });
  return known
             ? Status{}
             : Status::error(Code::unsupported, "Resize of element type %s", name(x.dtype).data());
}

// Nearest moves codes; the other modes compute in float.
Status eval_codes(EvalContext& c) noexcept {
  const std::string_view mode = c.attributes.text("mode", "nearest");
  const bool crop = c.attributes.text("coordinate_transformation_mode") == "tf_crop_and_resize";
  return mode == "nearest" && !crop ? eval(c) : eval_dequantised(definition, c);
}

void facts(const NodeTypes& n, Facts& f) {
  tensor_facts(n, f);
  const std::optional<Shape> x = n.input(0).shape(), y = n.output().shape();
  if (!x || !y || x->rank != y->rank || x->rank < 2) return;
  const auto ratio = [&](int i) {
    return (*x)[i] > 0 && (*y)[i] % (*x)[i] == 0 ? (*y)[i] / (*x)[i] : 0;
  };
  f["scale_h"] = ratio(x->rank - 2);  // 0: not a whole number
  f["scale_w"] = ratio(x->rank - 1);
}

FormSpec form(const NodeTypes& n) {
  FormSpec s{.form = "resize", .function = "nearest"};
  const std::string_view mode = n.node.attributes.text("mode", "nearest");
  if (mode != s.function) s.refuse("mode", std::string(mode), "nearest");
  const TensorType &x = n.input(0), &y = n.output();
  for (std::size_t i = 0; i < 2 && x.rank() == y.rank() && i < x.dims.size(); i++)
    if (x.dims[i].value != y.dims[i].value)
      s.refuse(i == 0 ? "batch" : "channels",
               std::to_string(x.dims[i].value) + " resized to " + std::to_string(y.dims[i].value),
               std::to_string(x.dims[i].value));
  const std::string_view transform = n.node.attributes.text("coordinate_transformation_mode");
  if (transform == "tf_crop_and_resize")
    s.refuse("coordinate_transformation_mode", std::string(transform), "one that does not crop");
  return s;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Resize",
    .doc = "Interpolates along axes: nearest, linear or cubic, by scales or to sizes.",
    .since = 19,
    .schema =
        {.inputs = {{"X", type_set::any, "T1"},
                    {"roi", type_set::float_types, {}, Presence::optional, InputRole::parameter},
                    {"scales", types(DType::f32), {}, Presence::optional, InputRole::parameter},
                    {"sizes", type_set::int64, {}, Presence::optional, InputRole::parameter}},
         .outputs = {{"Y", type_set::any, "T1"}},
         .attributes = {{"antialias"},
                        {"axes", AttributeKind::integers},
                        {"coordinate_transformation_mode", AttributeKind::text},
                        {"cubic_coeff_a", AttributeKind::real},
                        {"exclude_outside"},
                        {"extrapolation_value", AttributeKind::real},
                        {"keep_aspect_ratio_policy", AttributeKind::text},
                        {"mode", AttributeKind::text},
                        {"nearest_mode", AttributeKind::text}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval_codes,
    .facts = facts,
    .quant = Quant::same,
    .form = form,
    .examples =
        {"(x: f32[N,2,3,4]) { y = Resize(x, _, f32[4]{1.0, 1.0, 2.0, 1.5}) return y }",
         "(x: f32[1,2,5,4]) { y = Resize(x, _, _, i64[2]{3, 7}, axes=[-2,3], mode=\"linear\", "
         "antialias=1) return y }",
         "(x: f64[4,4]) { y = Resize(x, f32[4]{0.1, 0.2, 0.9, 1.2}, _, i64[2]{3, 5}, "
         "mode=\"cubic\", "
         "coordinate_transformation_mode=\"tf_crop_and_resize\", extrapolation_value=9.0) return y "
         "}",
         "(x: u8[4]) { y = Resize(x, _, _, i64[1]{7}, mode=\"linear\", "
         "coordinate_transformation_mode=\"align_corners\") return y }",
         "(x: i8[1,1,2,2] q(0.5, 1)) { y: i8[1,1,4,4] q(0.5, 1) = Resize(x, _, f32[4]{1.0, 1.0, "
         "2.0, 2.0}, "
         "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\") return y }"},
};

}  // namespace longshore::ops::op_resize
