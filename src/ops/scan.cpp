#include "ops/carried.hpp"

namespace longshore::ops::op_scan {
namespace {

/// Numbers of states and of scanned inputs and outputs, and their axes.
struct Plan {
  std::size_t states = 0, scanned = 0, stacked = 0;
};
Status plan_of(const Attributes& a, std::size_t inputs, std::size_t outputs, Plan& p) noexcept {
  const std::int64_t m = a.integer("num_scan_inputs", 0);
  if (m < 1 || m > static_cast<std::int64_t>(inputs))
    return Status::error(Code::bad_model, "num_scan_inputs is %lld, there are %zu inputs",
                         static_cast<long long>(m), inputs);
  p.scanned = static_cast<std::size_t>(m);
  p.states = inputs - p.scanned;
  if (outputs < p.states)
    return Status::error(Code::bad_model, "%zu states and only %zu outputs", p.states, outputs);
  p.stacked = outputs - p.states;
  return {};
}
std::int64_t entry(const Attributes& a, std::string_view name, std::size_t i) {
  const std::span<const std::int64_t> list = a.integers(name);
  return i < list.size() ? list[i] : 0;
}

void infer(InferContext& c) {
  Plan p;
  if (const Status s = plan_of(c.attributes(), c.input_count(), c.output_count(), p); !s.ok())
    c.fail(s.text());
  std::vector<TensorType> in;
  Dim steps;
  for (std::size_t i = 0; i < p.states; i++) in.push_back(c.input(i));
  for (std::size_t i = 0; i < p.scanned; i++) {
    TensorType x = c.input(p.states + i);
    if (x.ranked) {
      const int axis = resolve_axis(entry(c.attributes(), "scan_input_axes", i), x.rank());
      if (axis < 0)
        c.fail("scan_input_axes is out of range for input " + std::to_string(p.states + i));
      const Dim d = x.dims[static_cast<std::size_t>(axis)];
      if (d.known() && steps.known() && d.value != steps.value)
        c.fail("its scanned inputs differ in length");
      if (!steps.known() && (d.known() || i == 0)) steps = d;
      x.dims.erase(x.dims.begin() + axis);
    }
    in.push_back(x);
  }
  const std::vector<TensorType> out = infer_carried(c, in, 0, 0, p.states);
  if (out.size() != c.output_count())
    c.fail("its body has " + std::to_string(out.size()) + " outputs, it has " +
           std::to_string(c.output_count()));
  for (std::size_t i = 0; i < p.states; i++) c.output(i, in[i]);
  for (std::size_t i = 0; i < p.stacked; i++) {
    TensorType y = out[p.states + i];
    if (y.ranked) {
      if (y.rank() >= max_rank) c.fail("a scan output would have more than 8 dimensions");
      const int axis = resolve_axis(entry(c.attributes(), "scan_output_axes", i), y.rank() + 1);
      if (axis < 0)
        c.fail("scan_output_axes is out of range for output " + std::to_string(p.states + i));
      y.dims.insert(y.dims.begin() + axis, steps);
    }
    c.output(p.states + i, y);
  }
}

/// One element of each scanned input.
std::size_t scratch(const ScratchContext& c) noexcept {
  Plan p;
  if (!plan_of(c.attributes, c.inputs.size(), c.inputs.size(), p).ok()) return 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < p.scanned; i++) {
    const TensorView& x = c.inputs[p.states + i];
    const int axis = resolve_axis(entry(c.attributes, "scan_input_axes", i), x.shape.rank);
    if (axis >= 0 && x.shape[axis] > 0)
      bytes += (x.bytes() / static_cast<std::size_t>(x.shape[axis]) + 63) / 64 * 64 + 64;
  }
  return bytes;
}

Status eval(EvalContext& c) noexcept {
  Plan p;
  LONGSHORE_TRY(plan_of(c.attributes, c.inputs.size(), c.output_count(), p));
  if (c.inputs.size() > most_carried || c.output_count() > most_carried)
    return Status::error(Code::unsupported, "a Scan with more than %zu values", most_carried);
  TensorView in[most_carried], out[most_carried];
  for (std::size_t i = 0; i < p.states; i++) in[i] = c.input(i);
  std::int64_t steps = -1;
  int axes[most_carried] = {};
  std::byte* room = c.scratch.data();
  for (std::size_t i = 0; i < p.scanned; i++) {
    const TensorView& x = c.input(p.states + i);
    const int axis = resolve_axis(entry(c.attributes, "scan_input_axes", i), x.shape.rank);
    if (axis < 0) return axis_out_of_range(entry(c.attributes, "scan_input_axes", i), x.shape.rank);
    if (steps >= 0 && x.shape[axis] != steps)
      return Status::error(Code::bad_argument, "the scanned inputs differ in length");
    steps = x.shape[axis];
    axes[i] = axis;
    Shape dims;
    for (int k = 0; k < x.shape.rank; k++)
      if (k != axis) dims.push(x.shape[k]);
    TensorView& slice = in[p.states + i];
    slice = {x.dtype, dims, room, {}};
    if (steps == 0) continue;
    const std::size_t bytes = (slice.bytes() + 63) / 64 * 64 + 64;
    if (bytes > static_cast<std::size_t>(c.scratch.data() + c.scratch.size() - room))
      return Status::error(Code::internal, "too little scratch memory");
    room += bytes;
  }
  for (std::int64_t t = 0; t < steps; t++) {
    for (std::size_t i = 0; i < p.scanned; i++) {
      const TensorView& x = c.input(p.states + i);
      const Shape dense = strides_of(x.shape);
      Shape strides;
      for (int k = 0; k < x.shape.rank; k++)
        if (k != axes[i]) strides.push(dense[k]);
      const std::int64_t at =
          entry(c.attributes, "scan_input_directions", i) != 0 ? steps - 1 - t : t;
      const std::size_t size = size_bytes(x.dtype);
      copy_strided(in[p.states + i].shape, size,
                   x.as<std::byte>() + at * dense[axes[i]] * static_cast<std::int64_t>(size),
                   strides, const_cast<void*>(in[p.states + i].data),
                   strides_of(in[p.states + i].shape));
    }
    LONGSHORE_TRY(c.run("body", {in, c.inputs.size()}, {out, c.output_count()}));
    for (std::size_t i = 0; i < p.states; i++) in[i] = out[i];
    for (std::size_t i = 0; i < p.stacked; i++) {
      const std::size_t o = p.states + i;
      if (!c.wants(o)) continue;
      const TensorView& row = out[o];
      if (row.shape.rank >= max_rank)
        return Status::error(Code::unsupported, "a scan output of more than 8 dimensions");
      const int axis = resolve_axis(entry(c.attributes, "scan_output_axes", i), row.shape.rank + 1);
      if (axis < 0)
        return axis_out_of_range(entry(c.attributes, "scan_output_axes", i), row.shape.rank + 1);
      Shape dims;
      for (int k = 0; k <= row.shape.rank; k++)
        dims.push(k == axis ? steps : row.shape[k < axis ? k : k - 1]);
      MutableView y;
      LONGSHORE_TRY(c.output(o, dims, y));
      if (y.dtype != row.dtype)
        return Status::error(Code::bad_model, "output %zu is of another type than its body gives",
                             o);
      const Shape dense = strides_of(dims);
      Shape strides;
      for (int k = 0; k < dims.rank; k++)
        if (k != axis) strides.push(dense[k]);
      const std::int64_t at =
          entry(c.attributes, "scan_output_directions", i) != 0 ? steps - 1 - t : t;
      const std::size_t size = size_bytes(row.dtype);
      copy_strided(row.shape, size, row.data, strides_of(row.shape),
                   y.as<std::byte>() + at * dense[axis] * static_cast<std::int64_t>(size), strides);
    }
  }
  for (std::size_t i = 0; i < p.states; i++) LONGSHORE_TRY(copy_output(c, i, in[i]));
  for (std::size_t i = 0; i < p.stacked && steps == 0; i++) {
    const std::size_t o = p.states + i;
    MutableView y;
    if (!c.wants(o)) continue;
    const int rank = c.inferred_dims(o).rank;
    const int axis =
        std::max(0, resolve_axis(entry(c.attributes, "scan_output_axes", i), std::max(1, rank)));
    LONGSHORE_TRY(c.output(o, empty_stack(c, o, axis), y));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Scan",
    .doc =
        "Runs its body for each element of the scanned inputs, carrying states and stacking rows.",
    .since = 25,
    .schema = {.inputs = {{"initial_state_and_scan_inputs", type_set::any, {}, Presence::variadic}},
               .outputs = {{"final_state_and_scan_outputs", type_set::any, {}, Presence::variadic}},
               .attributes = {{"body", AttributeKind::graph, true},
                              {"num_scan_inputs", AttributeKind::integer, true},
                              {"scan_input_axes", AttributeKind::integers},
                              {"scan_input_directions", AttributeKind::integers},
                              {"scan_output_axes", AttributeKind::integers},
                              {"scan_output_directions", AttributeKind::integers}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .examples =
        {"(s: f32[2], x: f32[2,N]) { y, rows = Scan(s, x, num_scan_inputs=1, scan_input_axes=[-1], "
         "scan_output_axes=[1], scan_output_directions=[1]) body=(a: f32[2], e: f32[2]) { b = "
         "Add(a, e) return b, b } "
         "return y, rows }"},
};

}  // namespace longshore::ops::op_scan
