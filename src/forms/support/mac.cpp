#include "forms/support/mac.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace longshore::forms {
namespace {

std::uint32_t u32(std::int64_t v) { return static_cast<std::uint32_t>(v); }

/// Codes and weights that the array multiplies, and what it may make of them.
void type_limits(const FormNode& n, const Unit& unit, Reasons& out) {
  const Value &x = n.graph[n.data()], &y = n.graph[n.result()];
  const ValueId w = n.input(n.spec.weights);
  if (w == no_value || x.type.dtype != DType::i16) {
    if (x.type.dtype != DType::i16 && y.type.dtype == DType::i16)
      out.value(str("the element type of '", y.name, "'"), "i16", "i8, as that of its input");
    return;
  }
  const DType weights = n.type(w).dtype;
  if ((weights == DType::i8 || weights == DType::i16) &&
      !(unit.machine.mac_rate(DType::i16, weights) > 0))
    out.lacks(unit, str("products of i16 by ", name(weights)),
              weights == DType::i8 ? "npu.mac.i16_rate" : "npu.mac.i16_weights_rate");
  if (x.type.quant.zero_point.size() == 1 && x.type.quant.zero_point[0] != 0)
    out.range(str("the zero point of '", x.name, "'"), x.type.quant.zero_point[0], 0, 0,
              "the MAC array takes of 16-bit codes");
}

void weight_limits(const FormNode& n, Reasons& out) {
  const ValueId id = n.input(n.spec.weights);
  if (id == no_value) return out.value("its weights", "absent", "a constant");
  const Value& w = n.graph[id];
  const bool matrix = n.spec.other >= 0 && (n.spec.weights_by_input || w.type.rank() == 2);
  if (!n.graph.constant(id) && !matrix) return out.computed("weights", w.name);
  const Quantisation& q = w.type.quant;
  const bool wide = n.type(n.data()).dtype == DType::i16;
  if (w.type.dtype != DType::i8 && !(wide && w.type.dtype == DType::i16))
    out.value(str("the element type of '", w.name, "'"), name(w.type.dtype),
              wide ? "i8 or i16" : "i8");
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

std::vector<std::int16_t> constant_weights(const FormNode& n) {
  const TensorView from = n.graph.constant(n.input(n.spec.weights))->view();
  std::vector<std::int16_t> out(static_cast<std::size_t>(from.elements()));
  if (from.dtype == DType::i8)
    std::copy_n(from.as<std::int8_t>(), out.size(), out.begin());
  else
    std::copy_n(from.as<std::int16_t>(), out.size(), out.begin());
  return out;
}

void put_weight(std::vector<std::byte>& to, std::int64_t at, std::int64_t bytes, std::int16_t w) {
  const auto code = static_cast<std::int8_t>(w);
  std::memcpy(to.data() + at * bytes, bytes == 1 ? static_cast<const void*>(&code) : &w,
              static_cast<std::size_t>(bytes));
}

void mac_limits(const FormNode& n, const Unit& unit, Reasons& out) {
  const TensorType& x = n.type(n.data());
  const bool matrix = is_matrix_product(n);
  if (x.rank() < (matrix ? 1 : 3) || x.rank() > 4)
    out.range(str("the rank of '", n.graph[n.data()].name, "'"), x.rank(), matrix ? 1 : 3, 4,
              matrix ? "matrix products are lowered for" : "convolutions are lowered for");
  if (matrix) matrix_limits(n, out);
  type_limits(n, unit, out);
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

void set_types(Conv& conv, const FormNode& n) {
  conv.in.dtype = n.type(n.data()).dtype;
  conv.weight_dtype = n.type(n.input(n.spec.weights)).dtype;
  conv.out.dtype = n.type(n.result()).dtype;
}

void set_tile(Conv& conv, const FormNode& n, const TileTask& task, TileEmitter& e,
              std::size_t data) {
  const MacCodes codes = mac_codes(n);
  const Box &in = e.operand_box(data), &out = task.box.out;
  conv.in = e.operand(data);
  conv.in_h = u32(in.h.size()), conv.in_w = u32(in.w.size()), conv.in_c = u32(in.c.size());
  conv.in_zero = codes.in.zero;
  conv.weight_dtype = n.type(n.input(n.spec.weights)).dtype;
  set_window(conv, n, out);
  conv.accumulate = !task.box.begins;
  conv.finish = task.box.ends;
  conv.out = e.result();
  if (!task.box.begins || !task.box.ends) {
    // As many sums lie in a pixel as its padded channels are.
    const std::int64_t sum = sum_bytes(conv.in.dtype);
    const std::uint32_t times = u32(sum / static_cast<std::int64_t>(size_bytes(conv.out.dtype)));
    conv.accumulators = {e.accumulators(), conv.out.row_stride * times,
                         conv.out.pixel_stride * times, sum == 4 ? DType::i32 : DType::i64};
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
