// Layer and RMS normalisation over the channels of each pixel: scales and biases of all channels
// lie in SRAM, once for all tiles.
#include "base/error.hpp"
#include "forms/support/rows.hpp"
#include "forms/support/vector.hpp"
#include "program/instructions/norm.hpp"
#include "tensor/norm_codes.hpp"

namespace longshore::forms {
namespace {

/// Scale or bias: one constant float for each channel.
void parameter_limits(const FormNode& n, int role, std::string_view what, Reasons& out) {
  const ValueId v = n.input(role);
  if (v == no_value) return;
  const TensorType& t = n.type(v);
  const std::string& name = n.graph[v].name;
  if (!n.graph.constant(v)) return out.computed(what, name);
  if (t.dtype != DType::f32 || t.quantised())
    out.value(str("the element type of '", name, "'"),
              t.quantised() ? "quantised" : longshore::name(t.dtype), "f32");
  const TensorType& x = n.type(n.data());
  const std::optional<Shape> dims = t.shape(), data = x.shape();
  if (!dims || !data || data->rank == 0) return;
  if (dims->rank != 1)
    out.range(str("the rank of '", name, "'"), dims->rank, 1, 1, "normalisation takes");
  else if ((*dims)[0] != data->back())
    out.range(str("the number of elements of '", name, "'"), (*dims)[0], data->back(), data->back(),
              "normalisation takes");
}

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  out.needs(unit, vector_unit::norm);
  row_limits(n, out);
  const TensorType& x = n.type(n.data());
  if (const int axis = x.ranked ? resolve_axis(n.spec.axis, x.rank()) : -1;
      axis >= 0 && axis != x.rank() - 1)
    out.range(str("the number of normalised axes of '", n.graph[n.data()].name, "'"),
              x.rank() - axis, 1, 1, "normalisation takes");
  if (x.dtype == DType::i16 && x.quant.zero_point.size() == 1 && x.quant.zero_point[0] != 0)
    out.range(str("the zero point of '", n.graph[n.data()].name, "'"), x.quant.zero_point[0], 0, 0,
              "normalisation takes of 16-bit codes");
  if (!(n.spec.epsilon >= 0)) out.value("its epsilon", str(n.spec.epsilon), "0 or more");
  parameter_limits(n, n.spec.weights, "scale", out);
  parameter_limits(n, n.spec.bias, "bias", out);
}

std::int64_t slot_bytes(const FormNode& n, std::size_t, const Tiling&, const Machine&) {
  return 2 * static_cast<std::int64_t>(sizeof(float)) * n.out.c;
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  return element_cycles(n, m, vector_unit::norm, t);
}

/// A bias that is absent is 0: adding it changes no code.
std::vector<std::byte> make(const FormNode& n, std::size_t, const TileBox&) {
  const auto channels = static_cast<std::size_t>(n.out.c);
  std::vector<float> all(2 * channels);
  std::ranges::copy(n.graph.constant(n.input(n.spec.weights))->values<float>(), all.begin());
  if (const Tensor* bias = n.graph.constant(n.input(n.spec.bias)))
    std::ranges::copy(bias->values<float>(), all.begin() + static_cast<std::ptrdiff_t>(channels));
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  Norm o;
  o.in = e.operand(0), o.out = e.result();
  set_extent(o, task.box.out);
  o.parameters = e.operand(1).address;
  o.epsilon = n.spec.epsilon;
  o.subtract_mean = n.spec.function == "layer";
  set_input_codes(o, n);
  set_output_codes(o, n);
  e.emit(Queue::vector, o);
}

}  // namespace

// It does not follow other forms: their tiles need not have all channels.
extern constinit const FormDef form_norm = {
    .name = "norm",
    .doc = "Layer and RMS normalisation of the last axis, which is walked as channels.",
    .dtypes = {DType::i8, DType::i16},
    .order = row_order,
    .limits = limits,
    .operands = row_operands,
    .reach = row_reach,
    .rules = row_rules,
    .slot_bytes = slot_bytes,
    .cycles = cycles,
    .make = make,
    .emit = emit,
    .examples = {R"((x: i8[2,5,6] q(0.1, 3)) {
      y: i8[2,5,6] q(0.02, 5) = LayerNormalization(x, f32[6]{1, 2, -0.5, 0.25, 0, 1.5}, f32[6]{0.1})
      return y })",
                 R"((x: i16[2,5,6] q(0.0002, 0)) {
      y: i16[2,5,6] q(0.0001, 0) = LayerNormalization(x, f32[6]{1, 2, -0.5, 0.25, 0, 1.5}, f32[6]{0.1})
      return y })",
                 R"((x: i8[1,3,4,3] q(0.1, 3)) {
      y: i8[1,3,4,3] q(0.02, 5) = RMSNormalization(x, f32[3]{1, 2, -0.5}) return y })"},
};

}  // namespace longshore::forms
