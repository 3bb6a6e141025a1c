#include "ops/conv.hpp"

namespace longshore::ops::op_conv_transpose {
namespace {

/// As a window that slides over the OUTPUT: `in` is the output's size, `out` the input's.
struct TransposeShape {
  Window window;
  std::int64_t batch = 0, groups = 1, group_in = 0, group_out = 0;
  Shape out;
};

std::int64_t listed(const Attributes& a, std::string_view name, int i, std::int64_t otherwise) {
  const std::span<const std::int64_t> list = a.integers(name);
  return static_cast<std::size_t>(i) < list.size() ? list[static_cast<std::size_t>(i)] : otherwise;
}

/// One axis: w.out[slot] (the input's size) and w.kernel[slot] are set before.
Status transpose_axis(const Attributes& a, int i, int spatial, int slot, Window& w) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  for (const std::string_view name : {"strides", "dilations", "pads", "output_padding"}) {
    const std::size_t wanted = static_cast<std::size_t>(name == "pads" ? 2 * spatial : spatial);
    const std::span<const std::int64_t> list = a.integers(name);
    if (!list.empty() && list.size() != wanted)
      return Status::error(Code::bad_model, "%s has %zu entries, not %zu", name.data(), list.size(),
                           wanted);
    const std::int64_t least = name == "strides" || name == "dilations" ? 1 : 0;
    for (std::int64_t v : list)
      if (v < least || v >= most)
        return Status::error(Code::bad_model, "%s has the entry %lld", name.data(),
                             static_cast<long long>(v));
  }
  w.stride[slot] = listed(a, "strides", i, 1);
  w.dilation[slot] = listed(a, "dilations", i, 1);
  w.begin[slot] = listed(a, "pads", i, 0);
  w.end[slot] = listed(a, "pads", i + spatial, 0);
  if (w.kernel[slot] < 1 || w.kernel[slot] >= most || w.out[slot] > most)
    return Status::error(Code::bad_model, "a kernel or axis of unsupported size");
  const std::int64_t full = (w.out[slot] - 1) * w.stride[slot] +
                            (w.kernel[slot] - 1) * w.dilation[slot] + 1 +
                            listed(a, "output_padding", i, 0);
  const std::string_view mode = a.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const std::span<const std::int64_t> wanted = a.integers("output_shape");
  if (!same && mode != "VALID" && mode != "NOTSET" && !mode.empty())
    return Status::error(Code::bad_model, "auto_pad is '%.20s'", mode.data());
  if (!wanted.empty() || same) {
    // output_shape may give N and C too.
    const std::size_t skip = static_cast<int>(wanted.size()) == spatial + 2 ? 2 : 0;
    if (!wanted.empty() && wanted.size() != static_cast<std::size_t>(spatial) + skip)
      return Status::error(Code::bad_model, "output_shape has %zu entries, not %d", wanted.size(),
                           spatial);
    w.in[slot] =
        wanted.empty() ? w.out[slot] * w.stride[slot] : wanted[static_cast<std::size_t>(i) + skip];
    const std::int64_t total = std::max<std::int64_t>(0, full - w.in[slot]);
    w.begin[slot] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.end[slot] = total - w.begin[slot];
  } else {
    if (mode == "VALID") w.begin[slot] = w.end[slot] = 0;
    w.in[slot] = full - w.begin[slot] - w.end[slot];
  }
  if (w.out[slot] == 0 && w.in[slot] < 0) w.in[slot] = 0;
  if (w.in[slot] < 0 || w.in[slot] > std::int64_t{1} << 40)
    return Status::error(Code::bad_argument, "an output axis of %lld elements",
                         static_cast<long long>(w.in[slot]));
  return {};
}

Status transpose_shape(const Attributes& a, const Shape& x, const Shape& w,
                       TransposeShape& s) noexcept {
  const int spatial = x.rank - 2;
  if (spatial < 1 || spatial > 3 || w.rank != x.rank)
    return Status::error(Code::unsupported,
                         "the input has rank %d and the weights %d; both need rank 3, 4 or 5",
                         x.rank, w.rank);
  const std::span<const std::int64_t> given = a.integers("kernel_shape");
  if (!given.empty() && !std::equal(given.begin(), given.end(), w.dims + 2, w.dims + w.rank))
    return Status::error(Code::bad_model, "kernel_shape is not that of the weights");
  for (int i = 0; i < spatial; i++) {
    const int slot = 3 - spatial + i;
    s.window.out[slot] = x[2 + i];
    s.window.kernel[slot] = w[2 + i];
    LONGSHORE_TRY(transpose_axis(a, i, spatial, slot, s.window));
  }
  s.groups = a.integer("group", 1);
  if (s.groups < 1 || w[0] != x[1] || x[1] % s.groups != 0)
    return Status::error(
        Code::bad_model,
        "%lld input channels in %lld groups do not fit weights of %lld input channels",
        static_cast<long long>(x[1]), static_cast<long long>(s.groups),
        static_cast<long long>(w[0]));
  s.batch = x[0];
  s.group_in = x[1] / s.groups;
  s.group_out = w[1];
  std::int64_t channels = 0;
  if (__builtin_mul_overflow(s.groups, s.group_out, &channels))
    return Status::error(Code::exhausted, "too many channels");
  s.out = {x[0], channels};
  for (int slot = 3 - spatial; slot < 3; slot++) s.out.push(s.window.in[slot]);
  if (checked_elements(s.out) < 0)
    return Status::error(Code::exhausted, "an output of too many elements");
  return {};
}

/// acc[output plane] = sum over channels of x times the kernel, each input spread over its outputs.
template <class A>
void spread(const Window& w, std::int64_t channels, const A* x, const A* weights,
            std::int64_t weights_step, A* __restrict acc) {
  std::fill_n(acc, w.in_plane(), A{});
  for (std::int64_t c = 0; c < channels; c++, x += w.out_plane(), weights += weights_step) {
    const A* tap = weights;
    for (std::int64_t kd = 0; kd < w.kernel[0]; kd++)
      for (std::int64_t kh = 0; kh < w.kernel[1]; kh++)
        for (std::int64_t kw = 0; kw < w.kernel[2]; kw++) {
          const A factor = *tap++;
          const IndexRange depth = outputs_of_tap(w, 0, kd), rows = outputs_of_tap(w, 1, kh),
                           columns = outputs_of_tap(w, 2, kw);
          const std::int64_t shift = kw * w.dilation[2] - w.begin[2];
          for (std::int64_t d = depth.from; d < depth.to; d++)
            for (std::int64_t h = rows.from; h < rows.to; h++) {
              const std::int64_t at = d * w.stride[0] - w.begin[0] + kd * w.dilation[0];
              const std::int64_t row = h * w.stride[1] - w.begin[1] + kh * w.dilation[1];
              const A* from = x + (d * w.out[1] + h) * w.out[2];
              A* __restrict to = acc + (at * w.in[1] + row) * w.in[2];
              for (std::int64_t i = columns.from; i < columns.to; i++)
                to[i * w.stride[2] + shift] += factor * from[i];
            }
        }
  }
}

std::size_t scratch_as(const TransposeShape& s, std::size_t size) {
  return static_cast<std::size_t>(s.group_in * (s.window.out_plane() + s.window.taps()) +
                                  s.window.in_plane()) *
         size;
}
std::size_t scratch(const ScratchContext& c) noexcept {
  TransposeShape s;
  if (!transpose_shape(c.attributes, c.inputs[0].shape, c.inputs[1].shape, s).ok()) return 0;
  return scratch_as(s, c.inputs[0].dtype == DType::f64 ? sizeof(double) : sizeof(float));
}

template <class T>
Status run(EvalContext& c, const TransposeShape& s) noexcept {
  using A = Compute<T>;
  const TensorView &x = c.input(0), &w = c.input(1), &bias = c.input(2);
  MutableView y;
  LONGSHORE_TRY(c.output(0, s.out, y));
  if (c.scratch.size() < scratch_as(s, sizeof(A)))
    return Status::error(Code::internal, "too little scratch memory");
  A* plane = reinterpret_cast<A*>(c.scratch.data());
  A* weights = plane + s.group_in * s.window.out_plane();
  A* acc = weights + s.group_in * s.window.taps();
  const std::int64_t taps = s.window.taps(), planes = s.group_in * s.window.out_plane(),
                     area = s.window.in_plane();
  for (std::int64_t n = 0; n < s.batch; n++)
    for (std::int64_t g = 0; g < s.groups; g++) {
      load_elements(x, (n * s.groups + g) * planes, planes, 0, plane);
      for (std::int64_t k = 0; k < s.group_out; k++) {
        for (std::int64_t i = 0; i < s.group_in; i++)
          load_elements(w, ((g * s.group_in + i) * s.group_out + k) * taps, taps, 0,
                        weights + i * taps);
        spread(s.window, s.group_in, plane, weights, taps, acc);
        const std::int64_t m = g * s.group_out + k;
        const A b = bias.present() ? static_cast<A>(bias.as<T>()[m]) : A{0};
        T* to = y.as<T>() + (n * s.groups * s.group_out + m) * area;
        for (std::int64_t i = 0; i < area; i++) to[i] = static_cast<T>(acc[i] + b);
      }
    }
  return {};
}

Status eval(EvalContext& c) noexcept {
  TransposeShape s;
  LONGSHORE_TRY(transpose_shape(c.attributes, c.input(0).shape, c.input(1).shape, s));
  if (c.has(2) && c.input(2).elements() != s.out[1])
    return Status::error(Code::bad_argument, "the bias has %lld elements, not %lld",
                         static_cast<long long>(c.input(2).elements()),
                         static_cast<long long>(s.out[1]));
  Status status;
  visit_type(FloatTypes{}, c.input(0).dtype, [&]<class T>() { status = run<T>(c, s); });
  return status;
}

void infer(InferContext& c) {
  const TensorType x = c.input(0), w = c.input(1);
  if (!x.ranked || !w.ranked) {
    const TensorType& known = x.ranked ? x : w;
    c.output(0, known.ranked ? unknown_dims(x.dtype, known.rank()) : TensorType::unranked(x.dtype));
    return;
  }
  const std::optional<Shape> known_x = x.shape(), known_w = w.shape();
  if (known_x && known_w) {
    TransposeShape s;
    if (const Status status = transpose_shape(c.attributes(), *known_x, *known_w, s); !status.ok())
      c.fail(status.text());
    c.output(0, {x.dtype, s.out});
    return;
  }
  const int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 3 || w.rank() != x.rank())
    c.fail("its input has rank " + std::to_string(x.rank()) + ", its weights " +
           std::to_string(w.rank()) + "; both need rank 3, 4 or 5");
  const std::int64_t groups = c.attributes().integer("group", 1);
  Dims out = {x.dims[0], w.dims[1].known() && groups > 0 && groups < 1 << 20
                             ? Dim(w.dims[1].value * groups)
                             : Dim()};
  for (int i = 0; i < spatial; i++) {
    const Dim &in = x.dims[static_cast<std::size_t>(2 + i)],
              &k = w.dims[static_cast<std::size_t>(2 + i)];
    Window v;
    v.out[0] = in.value, v.kernel[0] = k.value;
    if (in.known() && k.known()) {
      if (const Status s = transpose_axis(c.attributes(), i, spatial, 0, v); !s.ok())
        c.fail(s.text());
      out.emplace_back(v.in[0]);
    } else {
      out.emplace_back();
    }
  }
  c.output(0, {x.dtype, out});
}

void facts(const NodeTypes& n, Facts& f) {
  tensor_facts(n, f);
  const std::optional<Shape> x = n.input(0).shape(), w = n.input(1).shape();
  TransposeShape s;
  if (!x || !w || !transpose_shape(n.node.attributes, *x, *w, s).ok()) return;
  f["kernel_h"] = s.window.kernel[1], f["kernel_w"] = s.window.kernel[2];
  f["stride_h"] = s.window.stride[1], f["stride_w"] = s.window.stride[2];
  f["dilation_h"] = s.window.dilation[1], f["dilation_w"] = s.window.dilation[2];
  f["pad_top"] = s.window.begin[1], f["pad_left"] = s.window.begin[2];
  f["pad_bottom"] = s.window.end[1], f["pad_right"] = s.window.end[2];
  f["groups"] = s.groups;
  f["out_channels"] = s.out[1];
}
std::int64_t macs(const NodeTypes& n) {
  const std::optional<Shape> x = n.input(0).shape(), w = n.input(1).shape();
  return x && w ? x->elements() * w->product(1, w->rank) : 0;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ConvTranspose",
    .doc = "The transposed convolution: each input element spreads over a window of the output.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"W", type_set::float_types, "T", Presence::required, InputRole::weights},
                          {"B", type_set::float_types, "T", Presence::optional, InputRole::bias}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"auto_pad", AttributeKind::text},
                              {"dilations", AttributeKind::integers},
                              {"group", AttributeKind::integer},
                              {"kernel_shape", AttributeKind::integers},
                              {"output_padding", AttributeKind::integers},
                              {"output_shape", AttributeKind::integers},
                              {"pads", AttributeKind::integers},
                              {"strides", AttributeKind::integers}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts,
    .macs = macs,
    .weight_axis =
        [](const NodeTypes& n) { return n.node.attributes.integer("group", 1) == 1 ? 1 : -1; },
    .float_rtol = 1e-4f,
    .float_atol = 1e-4f,
    .examples = {"(x: f32[1,4,3,3], w: f32[4,2,3,2], b: f32[4]) { y = ConvTranspose(x, w, b, "
                 "group=2, strides=[2,3], "
                 "pads=[1,0,0,1], output_padding=[1,0], dilations=[1,2]) return y }",
                 "(x: f16[N,1,4], w: f16[1,2,3]) { y = ConvTranspose(x, w, "
                 "auto_pad=\"SAME_UPPER\", strides=[2]) return y }",
                 "(x: f64[1,1,2,2], w: f64[1,1,3,3]) { y = ConvTranspose(x, w, output_shape=[6,5], "
                 "strides=[3,2]) return y }"},
};

}  // namespace longshore::ops::op_conv_transpose
