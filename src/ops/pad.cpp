#include "ops/legacy.hpp"
#include "ops/movement.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops::op_pad {
namespace {

// Before 11, pads and value are attributes ("paddings" before 2).
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset >= 11) return;
  attribute_to_input(n, "pads", 1, r);
  const float value = n.attributes.real("value", 0);
  n.attributes.erase("value");
  if (value == 0) return;
  n.inputs.resize(3, no_value);
  n.inputs[2] = r.constant(make_floats({}, std::span(&value, 1)));
  const DType dtype = r.graph()[n.inputs[0]].type.dtype;
  if (dtype != DType::f32 && dtype != DType::undefined)
    n.inputs[2] = r.before("Cast", {n.inputs[2]}, [&] {
      Attributes a;
      a.set("to", static_cast<std::int64_t>(dtype));
      return a;
    }());
}

enum class Mode : std::uint8_t { constant, reflect, edge, wrap };
Status mode_of(const Attributes& a, Mode& mode) noexcept {
  const std::string_view text = a.text("mode", "constant");
  constexpr std::string_view names[] = {"constant", "reflect", "edge", "wrap"};
  for (int i = 0; i < 4; i++)
    if (names[i] == text) {
      mode = static_cast<Mode>(i);
      return {};
    }
  return Status::error(Code::unsupported, "mode '%.30s'; it may be constant, reflect, edge or wrap",
                       text.data());
}

struct Pads {
  std::int64_t begin[max_rank] = {}, end[max_rank] = {};
};
/// The pads of each axis from the lists of the inputs.
Status spread(std::span<const std::int64_t> pads, std::span<const std::int64_t> axes, bool has_axes,
              int rank, Pads& out) noexcept {
  const std::size_t n = has_axes ? axes.size() : static_cast<std::size_t>(rank);
  if (pads.size() != 2 * n)
    return Status::error(Code::bad_argument, "pads has %zu entries, not %zu", pads.size(), 2 * n);
  for (std::size_t i = 0; i < n; i++) {
    const std::int64_t given = has_axes ? axes[i] : static_cast<std::int64_t>(i);
    const int axis = resolve_axis(given, rank);
    if (axis < 0) return axis_out_of_range(given, rank);
    constexpr std::int64_t most = std::int64_t{1} << 40;
    for (std::int64_t p : {pads[i], pads[n + i]})
      if (p < -most || p > most)
        return Status::error(Code::exhausted, "a pad of %lld", static_cast<long long>(p));
    out.begin[axis] = pads[i];
    out.end[axis] = pads[n + i];
  }
  return {};
}

/// The input index of an output index in one axis; -1: the constant.
std::int64_t source(Mode mode, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case Mode::constant:
      return -1;
    case Mode::edge:
      return i < 0 ? 0 : size - 1;
    case Mode::wrap:
      return (i % size + size) % size;
    case Mode::reflect: {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (size - 1));
      i = (i % period + period) % period;
      return i < size ? i : period - i;
    }
  }
  return -1;
}

void infer(InferContext& c) {
  TensorType x = c.input(0);
  Mode mode{};
  if (const Status s = mode_of(c.attributes(), mode); !s.ok()) c.fail(s.text());
  const std::optional<Ints> pads = c.integers(1), axes = c.integers(3);
  if (!x.ranked || !pads || (c.has(3) && !axes)) {
    c.output(0, x.ranked ? unknown_dims(x.dtype, x.rank()) : x);
    return;
  }
  Pads p;
  if (const Status s = spread(
          *pads, axes ? std::span<const std::int64_t>(*axes) : std::span<const std::int64_t>(),
          c.has(3), x.rank(), p);
      !s.ok())
    c.fail(s.text());
  for (int i = 0; i < x.rank(); i++) {
    Dim& d = x.dims[static_cast<std::size_t>(i)];
    if (p.begin[i] == 0 && p.end[i] == 0) continue;
    if (d.known() && d.value + p.begin[i] + p.end[i] < 0)
      c.fail("its pads leave " + std::to_string(d.value + p.begin[i] + p.end[i]) +
             " elements of axis " + std::to_string(i));
    d = d.known() ? Dim(d.value + p.begin[i] + p.end[i]) : Dim();
  }
  c.output(0, x);
}

/// Pads with the element at `filling`.
Status run(EvalContext& c, const void* filling) noexcept {
  const TensorView& x = c.input(0);
  Mode mode{};
  LONGSHORE_TRY(mode_of(c.attributes, mode));
  IntList pads, axes;
  LONGSHORE_TRY(read_ints(c.input(1), 2 * max_rank, "pads", pads));
  if (c.has(3)) LONGSHORE_TRY(read_ints(c.input(3), max_rank, "axes", axes));
  Pads p;
  LONGSHORE_TRY(spread({pads.values, static_cast<std::size_t>(pads.count)},
                       {axes.values, static_cast<std::size_t>(axes.count)}, c.has(3), x.shape.rank,
                       p));
  Shape dims = x.shape;
  for (int i = 0; i < dims.rank; i++) {
    dims[i] += p.begin[i] + p.end[i];
    if (dims[i] < 0)
      return Status::error(Code::bad_argument, "the pads leave %lld elements of axis %d",
                           static_cast<long long>(dims[i]), i);
    if (x.shape[i] == 0 && dims[i] > 0 && mode != Mode::constant)
      return Status::error(Code::bad_argument, "axis %d has no elements to pad with", i);
  }
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::size_t size = size_bytes(x.dtype);
  if (dims.elements() == 0) return {};
  const Shape strides = strides_of(x.shape);
  const int last = dims.rank - 1;
  Shape at = dims, outer = dims;
  for (std::int64_t& i : at) i = 0;
  outer.rank = at.rank = std::max(0, last);
  std::int64_t row = 0;
  do {
    std::int64_t base = 0;
    bool inside = true;
    for (int i = 0; i < last && inside; i++) {
      const std::int64_t s = source(mode, at[i] - p.begin[i], x.shape[i]);
      inside = s >= 0;
      base += s * strides[i];
    }
    const std::int64_t width = last >= 0 ? dims[last] : 1;
    for (std::int64_t k = 0; k < width; k++) {
      const std::int64_t s = !inside    ? -1
                             : last < 0 ? 0
                                        : source(mode, k - p.begin[last], x.shape[last]);
      copy_element(y.data, row * width + k, s < 0 ? filling : x.data, s < 0 ? 0 : base + s, size);
    }
    row++;
  } while (next_index(at, outer));
  return {};
}

Status eval(EvalContext& c) noexcept {
  constexpr std::byte zero[16] = {};
  const TensorView& value = c.input(2);
  if (value.present() && (value.elements() != 1 || value.dtype != c.input(0).dtype))
    return Status::error(Code::bad_argument,
                         "the constant must be one element of the input's type");
  return run(c, value.present() ? value.data : zero);
}

// Codes move; the filling is the code of the constant, by default the zero point.
Status eval_codes(EvalContext& c) noexcept {
  const QuantView to = c.output_quant(0);
  const TensorView& value = c.input(2);
  if (to.count != 1) return Status::error(Code::unsupported, "Pad of a tensor with several scales");
  const auto [low, high] = code_range(c.output_dtype(0));
  float real = 0;
  if (value.present() && value.elements() != 1)
    return Status::error(Code::bad_argument, "the constant has several elements");
  if (value.present() && value.quant.count == 1)
    real = dequantise(load_code(value, 0), value.quant.scale[0], value.quant.zero_point[0]);
  else if (value.present() && value.dtype == DType::f32)
    real = value.as<float>()[0];
  else if (value.present())
    return Status::error(Code::bad_argument, "the constant must be f32 or quantised");
  std::byte code[16] = {};
  store_code({c.output_dtype(0), {}, code, {}}, 0,
             quantise(real, to.scale[0], to.zero_point[0], low, high));
  return run(c, code);
}

FormSpec form(const NodeTypes& n) {
  FormSpec s{.form = "move", .move = FormSpec::Move::pads};
  if (n.node.input(2) != no_value) s.fill = 2;
  const std::string_view mode = n.node.attributes.text("mode", "constant");
  if (mode != "constant") s.refuse("mode", std::string(mode), "constant");
  const Tensor* pads = n.graph.constant(n.node.input(1));
  if (pads && pads->dtype == DType::i64)
    for (std::int64_t pad : pads->values<std::int64_t>())
      if (pad < 0) s.refuse("pads", std::to_string(pad), "0 or more");
  return s;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Pad",
    .doc =
        "Adds elements before and after each axis: a constant, the mirrored inside, the edge, or "
        "the other end. "
        "Negative pads cut.",
    .since = 25,
    .schema =
        {.inputs = {{"data", type_set::any, "T"},
                    {"pads", type_set::int64, {}, Presence::required, InputRole::parameter},
                    {"constant_value", type_set::any, "T", Presence::optional,
                     InputRole::parameter},
                    {"axes", type_set::indices, {}, Presence::optional, InputRole::parameter}},
         .outputs = {{"output", type_set::any, "T"}},
         .attributes = {{"mode", AttributeKind::text}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval_codes,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = form,
    .examples =
        {"(x: f32[N,3,4]) { y = Pad(x, i64[4]{1, 2, -1, 3}, f32[]{1.5}, i64[2]{-1, 1}) return y }",
         "(x: i32[3,4]) { y = Pad(x, i64[4]{2, 1, 0, 3}, mode=\"reflect\") return y }",
         "(x: f64[4]) { y = Pad(x, i64[2]{6, -1}, mode=\"wrap\") return y }",
         "(x: i8[1,3] q(0.5, 7)) { y: i8[1,5] q(0.5, 7) = Pad(x, i64[4]{0, 1, 0, 1}, f32[]{-1.0}) "
         "return y }"},
};

}  // namespace longshore::ops::op_pad
