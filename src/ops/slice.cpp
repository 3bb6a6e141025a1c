#include "ops/legacy.hpp"
#include "ops/movement.hpp"

namespace longshore::ops::op_slice {
namespace {

// Before 10, starts, ends and axes are attributes.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset >= 10) return;
  attribute_to_input(n, "starts", 1, r);
  attribute_to_input(n, "ends", 2, r);
  attribute_to_input(n, "axes", 3, r);
}

/// start:end:step of one axis as first element, step and number of elements (numpy's rules, where
/// numbers beyond either end, INT64_MIN and INT64_MAX included, are clamped).
struct Cut {
  std::int64_t first = 0, step = 1, count = 0;
};
Status cut_axis(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step,
                Cut& cut) noexcept {
  if (step == 0) return Status::error(Code::bad_argument, "a step of 0");
  // Where the number counts from the end: start < 0, so start + size cannot overflow.
  const auto place = [&](std::int64_t i) { return i < 0 ? i + size : i; };
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const std::int64_t from = std::clamp(place(start), low, high);
  std::int64_t to = std::clamp(place(end), low, high);
  if (size == 0) to = from;
  cut.first = from;
  cut.step = step;
  const auto distance = static_cast<std::uint64_t>(step > 0 ? to - from : from - to);
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const bool empty = step > 0 ? to <= from : to >= from;
  cut.count = empty ? 0 : static_cast<std::int64_t>((distance - 1) / stride + 1);
  if (cut.count <= 1) cut.step = 1;  // a huge step goes nowhere
  return {};
}

/// The same for all inputs; values(k) gives the list of input k, `axes` may be empty.
Status check_counts(std::size_t starts, std::size_t ends, std::size_t axes, std::size_t steps,
                    bool has_axes, bool has_steps) noexcept {
  if (starts != ends || (has_axes && axes != starts) || (has_steps && steps != starts))
    return Status::error(Code::bad_argument,
                         "starts, ends, axes and steps differ in length: %zu, %zu, %zu, %zu",
                         starts, ends, has_axes ? axes : starts, has_steps ? steps : starts);
  return {};
}

void infer(InferContext& c) {
  TensorType x = c.input(0);
  if (!x.ranked) {
    c.output(0, x);
    return;
  }
  const std::optional<Ints> starts = c.integers(1), ends = c.integers(2), axes = c.integers(3),
                            steps = c.integers(4);
  if ((c.has(3) && !axes) || (!starts && !axes && c.input(1).shape() == std::optional<Shape>())) {
    c.output(0, unknown_dims(x.dtype, x.rank()));
    return;
  }
  std::size_t count = 0;
  if (starts)
    count = starts->size();
  else if (axes)
    count = axes->size();
  else
    count = static_cast<std::size_t>(std::max<std::int64_t>(0, c.input(1).shape()->elements()));
  if (starts && ends)
    if (const Status s = check_counts(count, ends->size(), axes ? axes->size() : 0,
                                      steps ? steps->size() : 0, c.has(3), steps.has_value());
        !s.ok())
      c.fail(s.text());
  for (std::size_t i = 0; i < count; i++) {
    const std::int64_t given = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    const int axis = resolve_axis(given, x.rank());
    if (axis < 0)
      c.fail("axis " + std::to_string(given) + " is out of range for rank " +
             std::to_string(x.rank()));
    Dim& d = x.dims[static_cast<std::size_t>(axis)];
    if (!starts || !ends || (c.has(4) && !steps)) {
      d = Dim();
      continue;
    }
    const std::int64_t start = (*starts)[i], end = (*ends)[i], step = steps ? (*steps)[i] : 1;
    if (d.known()) {
      Cut cut;
      if (const Status s = cut_axis(d.value, start, end, step, cut); !s.ok()) c.fail(s.text());
      d = Dim(cut.count);
    } else if (start == 0 && step == 1 && end == std::numeric_limits<std::int64_t>::max()) {
      continue;  // everything
    } else {
      d = Dim();
    }
  }
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  IntList starts, ends, axes, steps;
  LONGSHORE_TRY(read_ints(c.input(1), max_rank, "starts", starts));
  LONGSHORE_TRY(read_ints(c.input(2), max_rank, "ends", ends));
  if (c.has(3)) LONGSHORE_TRY(read_ints(c.input(3), max_rank, "axes", axes));
  if (c.has(4)) LONGSHORE_TRY(read_ints(c.input(4), max_rank, "steps", steps));
  LONGSHORE_TRY(check_counts(static_cast<std::size_t>(starts.count),
                             static_cast<std::size_t>(ends.count),
                             static_cast<std::size_t>(axes.count),
                             static_cast<std::size_t>(steps.count), c.has(3), c.has(4)));
  Shape dims = x.shape, strides = strides_of(x.shape);
  std::int64_t first = 0;
  bool seen[max_rank] = {};
  for (int i = 0; i < starts.count; i++) {
    const std::int64_t given = c.has(3) ? axes[i] : i;
    const int axis = resolve_axis(given, x.shape.rank);
    if (axis < 0) return axis_out_of_range(given, x.shape.rank);
    if (seen[axis]) return Status::error(Code::bad_argument, "axis %d is given twice", axis);
    seen[axis] = true;
    Cut cut;
    LONGSHORE_TRY(cut_axis(x.shape[axis], starts[i], ends[i], c.has(4) ? steps[i] : 1, cut));
    dims[axis] = cut.count;
    if (cut.count > 0) first += cut.first * strides[axis];
    strides[axis] *= cut.step;
  }
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (dims.elements() == 0) return {};
  const std::size_t size = size_bytes(x.dtype);
  copy_strided(dims, size, x.as<std::byte>() + first * static_cast<std::int64_t>(size), strides,
               y.data, strides_of(dims));
  return {};
}

FormSpec form(const NodeTypes& n) {
  FormSpec s{.form = "move"};
  const Tensor* steps = n.graph.constant(n.node.input(4));
  if (steps && steps->dtype == DType::i64)
    for (std::int64_t step : steps->values<std::int64_t>())
      if (step < 0) s.refuse("steps", std::to_string(step), "1 or more");
  return s;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Slice",
    .doc = "start:end:step of each axis given, by numpy's rules.",
    .since = 13,
    .schema =
        {.inputs = {{"data", type_set::any, "T"},
                    {"starts", type_set::indices, "Tind", Presence::required, InputRole::parameter},
                    {"ends", type_set::indices, "Tind", Presence::required, InputRole::parameter},
                    {"axes", type_set::indices, "Tind", Presence::optional, InputRole::parameter},
                    {"steps", type_set::indices, "Tind", Presence::optional, InputRole::parameter}},
         .outputs = {{"output", type_set::any, "T"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = form,
    .examples = {"(x: f32[N,5,6]) { y = Slice(x, i64[2]{4, 1}, i64[2]{-9223372036854775808, "
                 "9223372036854775807}, "
                 "i64[2]{1, -1}, i64[2]{-2, 2}) return y }",
                 "(x: i8[4]) { y = Slice(x, i32[1]{0}, i32[1]{3}, _, i32[1]{-1}) return y }"},
};

}  // namespace longshore::ops::op_slice
