#include "forms/support/mac.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace longshore::forms {
namespace {

std::uint32_t u32(std::int64_t v) { return static_cast<std::uint32_t>(v); }

void weight_limits(const FormNode& n, Reasons& out) {
  const ValueId id = n.input(n.spec.weights);
  if (id == no_value) return out.value("its weights", "absent", "a constant");
  const Value& w = n.graph[id];
  const bool matrix = n.spec.other >= 0 && (n.spec.weights_by_input || w.type.rank() == 2);
  if (!n.graph.constant(id) && !matrix) return out.computed("weights", w.name);
  const Quantisation& q = w.type.quant;
  if (w.type.dtype != DType::i8)
    out.value(str("the element type of '", w.name, "'"), name(w.type.dtype), "i8");
  const int axis = n.spec.weights_by_input ? w.type.rank() - 1 : 0;
  for (std::int32_t z : q.zero_point)
    if (z != 0) {
      out.range(str("the zero point of '", w.name, "'"), z, 0, 0, "the MAC array takes");
      break;
    }
  if (q.scale.size() > 1 && q.axis != axis)
    out.range(str("the axis of the scales of '", w.name, "'"), q.axis, axis, axis,
              "the MAC array takes");
}

void bias_limits(const FormNode& n, Reasons& out) {
  const ValueId id = n.input(n.spec.bias);
  if (id == no_value) return;
  const Value& b = n.graph[id];
  if (!n.graph.constant(id)) return out.computed("bias", b.name);
  if (b.type.dtype != DType::i32)
    out.value(str("the element type of '", b.name, "'"), name(b.type.dtype), "i32");
  const std::optional<Extent> y = extent_of(n.graph[n.result()]);
  const Tensor& t = b.constant;
  if (y && t.elements() != 1 && (t.elements() != y->c || t.shape.back() != t.elements()))
    out.value(str("the dims of '", b.name, "'"), print(b.type), str("[", y->c, "]"));
}

/// One matrix for all rows of features or, if it is computed, one for each batch of a tensor of
/// rank 3 or each head of a tensor of rank 4.
void matrix_limits(const FormNode& n, Reasons& out) {
  const ValueId id = n.input(n.spec.weights);
  if (id == no_value) return;
  const TensorType &w = n.type(id), &x = n.type(n.data());
  const std::string named = str("the rank of '", n.graph[id].name, "'");
  if (n.graph.constant(id) || w.rank() < 3 || x.rank() < 3) {
    if (w.rank() != 2) out.range(named, w.rank(), 2, 2, "such matrix products are lowered for");
    return;
  }
  if (w.rank() != x.rank())
    return out.range(named, w.rank(), x.rank(), x.rank(),
                     "products with this input are lowered for");
  const std::optional<Shape> from = x.shape(), matrices = w.shape();
  if (!from || !matrices) return;
  for (int i = 0; i + 2 < from->rank; i++)
    if ((*matrices)[i] != (*from)[i])
      out.range(str("dim ", i, " of '", n.graph[id].name, "'"), (*matrices)[i], (*from)[i],
                (*from)[i], "products with this input are lowered for");
  if (from->rank == 4 && (*from)[0] != 1)
    out.range(str("dim 0 of '", n.graph[n.data()].name, "'"), (*from)[0], 1, 1,
              "products of two computed tensors of rank 4 are lowered for");
}

}  // namespace

MacCodes mac_codes(const FormNode& n) {
  MacCodes c{codes_of(n.type(n.data())), codes_of(n.type(n.result()))};
  n.spec.activation.narrow(c.out.scale, c.out.zero, c.out.lowest, c.out.highest);
  return c;
}

std::vector<ChannelParameters> mac_parameters(const FormNode& n) {
  const Quantisation& w = n.type(n.input(n.spec.weights)).quant;
  const Codes in = codes_of(n.type(n.data())), out = codes_of(n.type(n.result()));
  const Tensor* bias = n.graph.constant(n.input(n.spec.bias));
  std::vector<ChannelParameters> all;
  for (std::int64_t o = 0; o < n.out.c; o++) {
    const auto channel = static_cast<std::size_t>(o);
    const Multiplier m =
        make_multiplier(in.scale, w.scale[w.scale.size() == 1 ? 0 : channel], out.scale);
    const std::int32_t b =
        bias ? bias->values<std::int32_t>()[bias->elements() == 1 ? 0 : channel] : 0;
    all.push_back({b, m.real, m.fixed, m.exponent});
  }
  return all;
}

std::vector<std::byte> with_parameters(std::vector<std::byte> weights,
                                       const std::vector<ChannelParameters>& parameters) {
  const auto bytes = std::as_bytes(std::span(parameters));
  weights.resize(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(weights.size()), 64)));
  weights.insert(weights.end(), bytes.begin(), bytes.end());
  return weights;
}

void window_limits(const FormNode& n, Reasons& out) {
  const Window& w = n.spec.window;
  const char* const axes[] = {"", "h", "w"};
  const char* const names[][2] = {{}, {"pad_top", "pad_bottom"}, {"pad_left", "pad_right"}};
  for (int i = 1; i < 3; i++)
    for (int side = 0; side < 2; side++)
      if (const std::int64_t pad = side == 0 ? w.begin[i] : w.end[i]; pad >= w.reach(i))
        out.range(names[i][side], pad, 0, w.reach(i) - 1,
                  str("a kernel_", axes[i], " that reaches ", w.reach(i), " allows"));
}

bool is_matrix_product(const FormNode& n) {
  const ValueId weights = n.input(n.spec.weights);
  return n.spec.weights_by_input || weights == no_value || n.type(weights).rank() <= 2;
}

std::optional<AxisOrder> mac_order(const FormNode& n) {
  if (n.data() != no_value && n.type(n.data()).rank() <= 2) return {};
  return is_matrix_product(n) ? AxisOrder::channels_last : AxisOrder::channels_first;
}

void mac_limits(const FormNode& n, const Unit&, Reasons& out) {
  const TensorType& x = n.type(n.data());
  const bool matrix = is_matrix_product(n);
  if (x.rank() < (matrix ? 1 : 3) || x.rank() > 4)
    out.range(str("the rank of '", n.graph[n.data()].name, "'"), x.rank(), matrix ? 1 : 3, 4,
              matrix ? "matrix products are lowered for" : "convolutions are lowered for");
  if (matrix) matrix_limits(n, out);
  weight_limits(n, out);
  bias_limits(n, out);
  if (const ValueId residual = n.input(n.spec.residual); residual != no_value)
    out.add({str("it adds the residual '", n.graph[residual].name, "'"),
             {},
             str("add '", n.graph[residual].name, "' in a node of its own")});
  if (!n.spec.activation.narrows())
    out.value("its fused activation", n.node.attributes.text("activation"),
              "a clamp (Relu, Clip) or a node of its own");
  window_limits(n, out);
}

void set_tile(Conv& conv, const FormNode& n, const TileTask& task, TileEmitter& e,
              std::size_t data) {
  const MacCodes codes = mac_codes(n);
  const Box &in = e.operand_box(data), &out = task.box.out;
  conv.in = e.operand(data);
  conv.in_h = u32(in.h.size()), conv.in_w = u32(in.w.size()), conv.in_c = u32(in.c.size());
  conv.in_zero = codes.in.zero;
  set_window(conv, n, out);
  conv.accumulate = !task.box.begins;
  conv.finish = task.box.ends;
  conv.out = e.result();
  if (!task.box.begins || !task.box.ends) {
    conv.accumulators = {e.accumulators(), conv.out.row_stride * 4, conv.out.pixel_stride * 4,
                         DType::i32};
  }
  conv.out_h = u32(out.h.size()), conv.out_w = u32(out.w.size()), conv.out_c = u32(out.c.size());
  conv.out_zero = codes.out.zero;
  conv.lowest = codes.out.lowest, conv.highest = codes.out.highest;
  conv.rounding = n.graph.numbers;
}

std::int64_t parameters_at(std::int64_t weight_bytes, const Machine& m) {
  return round_up(weight_bytes, sram_alignment(m));
}

}  // namespace longshore::forms
