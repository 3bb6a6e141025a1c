#pragma once
#include <algorithm>
#include <random>
#include <string>

#include "ir/op.hpp"

namespace longshore::tests {

/// A small quantised convolution net, drawn from the seed: convolutions of all kinds, pools,
/// element-wise operators, tables, concats, slices, splits, pads, transposes, resizes, matrix
/// products, softmaxes, norms, a classifier's tail.
class RandomNet {
 public:
  explicit RandomNet(unsigned seed, bool bytes = false) : rng_(seed), bytes_(bytes) {
    const Rounding modes[] = {Rounding::f32_even, Rounding::fixed31_single,
                              Rounding::fixed31_double};
    g_.numbers = modes[pick(0, 2)];
  }

  Graph make() {
    const std::int64_t batch = pick(0, 4) == 0 ? 2 : 1;
    TensorType type = activation(Shape{batch, pick(1, 24), pick(1, 20), pick(1, 20)});
    if (bytes_) type.dtype = DType::u8, type.quant.zero_point[0] += 128;
    ValueId x = g_.add_input("x", type);
    if (bytes_) x = conv(x);  // what reads bytes
    const int layers = pick(2, 7);
    for (int i = 0; i < layers; i++) x = step(x);
    if (pick(0, 2) == 0) x = tail(x);
    g_.outputs = {x};
    if (pick(0, 3) == 0 && g_.nodes.size() > 2) {
      const ValueId extra = g_.nodes[g_.nodes.size() / 2].output();
      if (extra != x) g_.outputs.push_back(extra);
    }
    return tidy(g_);
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng_() % static_cast<unsigned>(high - low + 1));
  }
  float scale() { return 0.01f * static_cast<float>(pick(1, 20)); }
  Quantisation quant() { return {{scale()}, {static_cast<std::int32_t>(pick(-128, 127))}, 0}; }
  TensorType activation(const Shape& s) {
    TensorType t(DType::i8, s);
    t.quant = quant();
    return t;
  }
  Shape shape(ValueId v) const { return *g_[v].type.shape(); }

  ValueId node(std::string_view op, std::vector<ValueId> in, Attributes attributes,
               std::optional<Quantisation> q = {}) {
    TensorType t = g_[in[0]].type;
    t.dtype = DType::i8;
    if (q) t.quant = *q;
    t.dims.clear();
    Node n;
    n.op = &op_named(op);
    n.attributes = std::move(attributes);
    // Infer the dims in a float twin, then state the quantised type.
    Graph twin;
    for (ValueId v : in) {
      if (v == no_value) {
        n.inputs.push_back(v);
      } else if (g_.constant(v) && g_[v].type.dtype == DType::i64) {
        n.inputs.push_back(twin.add_constant({}, *g_.constant(v)));
      } else {
        n.inputs.push_back(twin.add_input(
            {}, TensorType(g_[v].type.quantised() ? DType::f32 : g_[v].type.dtype, shape(v))));
      }
    }
    Node real = n;
    real.inputs = in;
    twin.add_node(std::move(n));
    t.dims = twin[twin.nodes[0].output()].type.dims;
    real.outputs = {g_.add_value("v" + std::to_string(g_.nodes.size()), t)};
    real.origin.name = "n" + std::to_string(g_.nodes.size());
    const ValueId out = real.outputs[0];
    g_.add_node(std::move(real));
    g_[out].type = t;
    return out;
  }

  ValueId weights(const Shape& s, float scale_w_low, Quantisation& q, bool per_channel,
                  int axis = 0) {
    std::vector<std::int8_t> codes(static_cast<std::size_t>(s.elements()));
    for (std::int8_t& c : codes) c = static_cast<std::int8_t>(pick(-127, 127));
    const ValueId v = g_.add_constant({}, make_tensor<std::int8_t>(DType::i8, s, codes));
    q = {};
    for (std::int64_t i = 0; i < (per_channel ? s[axis] : 1); i++)
      q.scale.push_back(scale_w_low * static_cast<float>(pick(1, 9))), q.zero_point.push_back(0);
    q.axis = per_channel ? axis : 0;
    g_[v].type.quant = q;
    return v;
  }
  ValueId bias(std::int64_t n, const Quantisation& w, float scale_x) {
    std::vector<std::int32_t> codes(static_cast<std::size_t>(n));
    for (std::int32_t& c : codes) c = static_cast<std::int32_t>(pick(-3000, 3000));
    const ValueId v = g_.add_constant({}, make_tensor<std::int32_t>(DType::i32, Shape{n}, codes));
    Quantisation q = w;
    for (float& s : q.scale) s *= scale_x;
    q.axis = 0;
    g_[v].type.quant = q;
    return v;
  }

  Attributes window(const Shape& x, std::int64_t most, bool kernel_attribute, std::int64_t& kh,
                    std::int64_t& kw, bool dilate) {
    Attributes a;
    std::int64_t dh = dilate ? pick(1, 2) : 1, dw = dilate ? pick(1, 2) : 1;
    kh = pick(1, most), kw = pick(1, most);
    Ints pads;
    for (const std::int64_t k : {kh, kw, kh, kw})
      pads.push_back(pick(0, (k - 1) / 2 + (k > 1 ? 1 : 0)));
    for (std::int64_t& p : pads) p = std::min<std::int64_t>(p, 2);
    const auto fits = [&](std::int64_t size, std::int64_t k, std::int64_t d, std::int64_t p) {
      return size + p >= (k - 1) * d + 1;
    };
    if (!fits(x[2], kh, dh, pads[0] + pads[2])) kh = dh = 1, pads[0] = pads[2] = 0;
    if (!fits(x[3], kw, dw, pads[1] + pads[3])) kw = dw = 1, pads[1] = pads[3] = 0;
    for (std::size_t i = 0; i < 4; i++) {
      const std::int64_t reach = i % 2 == 0 ? (kh - 1) * dh + 1 : (kw - 1) * dw + 1;
      pads[i] = std::min(pads[i], reach - 1);
    }
    if (x[2] + pads[0] + pads[2] < (kh - 1) * dh + 1) kh = 1, pads[0] = pads[2] = 0;
    if (x[3] + pads[1] + pads[3] < (kw - 1) * dw + 1) kw = 1, pads[1] = pads[3] = 0;
    a.set("pads", pads);
    a.set("strides", Ints{pick(1, 2), pick(1, 2)});
    if (dilate) a.set("dilations", Ints{dh, dw});
    if (kernel_attribute) a.set("kernel_shape", Ints{kh, kw});
    return a;
  }

  ValueId conv(ValueId x) {
    const Shape s = shape(x);
    std::int64_t kh = 1, kw = 1;
    Attributes a = window(s, 4, false, kh, kw, pick(0, 3) == 0);
    std::int64_t groups = 1, out = pick(1, 40);
    const std::int64_t kind = pick(0, 4);
    if (kind == 0) groups = out = s[1];                                // depthwise
    if (kind == 1 && s[1] % 2 == 0) groups = 2, out = 2 * pick(1, 8);  // grouped
    if (groups > 1) a.set("group", groups);
    Quantisation q;
    const float spread = 0.5f / static_cast<float>(kh * kw * s[1] / groups + 4);
    const ValueId w =
        weights(Shape{out, s[1] / groups, kh, kw}, 0.02f * spread, q, pick(0, 1) == 0);
    std::vector<ValueId> in = {x, w};
    if (pick(0, 2) > 0) in.push_back(bias(out, q, g_[x].type.quant.scale[0]));
    const std::int64_t fused = pick(0, 3);
    if (fused == 0) a.set("activation", std::string("Relu"));
    if (fused == 1) {
      a.set("activation", std::string("Clip"));
      a.set("activation_params", Reals{-0.2f, 0.9f});
    }
    return node(fused < 2 ? "com.microsoft.FusedConv" : "Conv", in, a, quant());
  }

  ValueId step(ValueId x) {
    const Shape s = shape(x);
    if (s.rank != 4) return node("Sigmoid", {x}, {}, quant());
    switch (pick(0, 19)) {
      case 0: {
        std::int64_t kh = 1, kw = 1;
        Attributes a = window(s, 3, true, kh, kw, false);
        return node("MaxPool", {x}, a);
      }
      case 1: {
        std::int64_t kh = 1, kw = 1;
        Attributes a = window(s, 3, true, kh, kw, false);
        if (pick(0, 1) == 0) a.set("count_include_pad", std::int64_t{1});
        return node("AveragePool", {x}, a, quant());
      }
      case 2:
        return node(pick(0, 1) ? "Relu" : "Sigmoid", {x}, {}, quant());
      case 3: {
        const ValueId y = node("Relu", {x}, {}, quant());
        return node(pick(0, 2) == 0 ? "Sub" : "Add", {x, y}, {}, quant());
      }
      case 4: {  // residual
        const ValueId y = conv(x);
        const ValueId z = shape(y) == s ? y : node("Sigmoid", {x}, {}, quant());
        if (pick(0, 1) == 0) {  // both branches end here, as where a residual net halves its planes
          const ValueId a = node("Relu", {y}, {}, quant()), b = node("Sigmoid", {y}, {}, quant());
          return node("Add", {a, b}, {}, quant());
        }
        return node("Add", {pick(0, 1) ? x : z, z}, {}, quant());
      }
      case 5: {  // squeeze and excite
        const ValueId p = node("GlobalAveragePool", {x}, {}, quant());
        const ValueId q = node("Sigmoid", {p}, {}, quant());
        return node("Mul", {x, q}, {}, quant());
      }
      case 6: {
        const ValueId y = pick(0, 1) ? node("Relu", {x}, {}, g_[x].type.quant)
                                     : node("Sigmoid", {x}, {}, quant());
        Attributes a;
        a.set("axis", pick(1, 3));
        return node("Concat", {x, y}, a, pick(0, 1) ? g_[x].type.quant : quant());
      }
      case 7: {
        if (s[2] * s[3] > 300) return conv(x);
        const float scales[] = {1, 1, static_cast<float>(pick(1, 3)),
                                static_cast<float>(pick(2, 5)) / 2};
        const ValueId c = g_.add_constant({}, make_floats(Shape{4}, scales));
        Attributes a;
        a.set("mode", std::string("nearest"));
        a.set("coordinate_transformation_mode", std::string("asymmetric"));
        a.set("nearest_mode", std::string("floor"));
        return resize(x, c, a, scales);
      }
      case 8: {
        if (s[1] < 2) return conv(x);
        const std::int64_t from[] = {pick(0, 1)}, to[] = {s[1]}, axis[] = {1}, by[] = {pick(1, 2)};
        return node("Slice",
                    {x, g_.add_constant({}, make_ints(from)), g_.add_constant({}, make_ints(to)),
                     g_.add_constant({}, make_ints(axis)), g_.add_constant({}, make_ints(by))},
                    {});
      }
      case 9: {
        Ints pads(8);
        for (std::int64_t& p : pads) p = pick(0, 4) == 0 ? pick(1, 2) : 0;
        pads[0] = pads[4] = 0;
        std::vector<ValueId> in = {x, g_.add_constant({}, make_ints(pads))};
        const float value = 0.3f;
        if (pick(0, 1)) in.push_back(g_.add_constant({}, make_floats({}, std::span(&value, 1))));
        return node("Pad", in, {});
      }
      case 10: {
        Ints perm = {0, 1, 2, 3};
        std::shuffle(perm.begin() + 1, perm.end(), rng_);
        Attributes a;
        a.set("perm", perm);
        return node("Transpose", {x}, a);
      }
      case 11: {
        if (s[1] < 2) return conv(x);
        Node split;
        split.op = &op_named("Split");
        split.attributes.set("axis", std::int64_t{1});
        const std::int64_t first = pick(1, s[1] - 1), sizes[] = {first, s[1] - first};
        split.inputs = {x, g_.add_constant({}, make_ints(sizes))};
        split.origin.name = "n" + std::to_string(g_.nodes.size());
        for (std::int64_t size : sizes) {
          TensorType t = g_[x].type;
          t.dims[1] = Dim(size);
          split.outputs.push_back(g_.add_value(
              "v" + std::to_string(g_.nodes.size()) + "_" + std::to_string(split.outputs.size()),
              t));
        }
        const std::vector<ValueId> parts = split.outputs;
        g_.add_node(std::move(split), 0);
        if (sizes[0] == sizes[1] && pick(0, 1)) return node("Add", parts, {}, quant());
        Attributes a;
        a.set("axis", std::int64_t{1});
        return pick(0, 1) ? node("Concat", {parts[1], parts[0]}, a, quant()) : parts[1];
      }
      case 12: {  // a matrix product over the last axis
        const std::int64_t n = pick(1, 12);
        Quantisation q;
        const ValueId w =
            weights(Shape{s[3], n}, 0.01f / static_cast<float>(s[3] + 4), q, pick(0, 1) == 0, 1);
        return node("MatMul", {x, w}, {}, quant());
      }
      case 13: {
        Attributes a;
        a.set("axis", pick(0, 1) ? std::int64_t{1} : std::int64_t{-1});
        return node("Softmax", {x}, a, quant());
      }
      case 14: {
        const auto row = [&](float low) {
          std::vector<float> values(static_cast<std::size_t>(s[3]));
          for (float& v : values) v = low + 0.1f * static_cast<float>(pick(0, 9));
          return g_.add_constant({}, make_floats(Shape{s[3]}, values));
        };
        if (pick(0, 1)) return node("RMSNormalization", {x, row(0.2f)}, {}, quant());
        return node("LayerNormalization", {x, row(0.2f), row(-0.5f)}, {}, quant());
      }
      case 15: {  // a product of two computed tensors
        if (s[0] != 1) return conv(x);
        Quantisation symmetric = quant();
        symmetric.zero_point = {0};
        const ValueId y = node("Sigmoid", {x}, {}, symmetric);
        Attributes a;
        a.set("perm", Ints{0, 1, 3, 2});
        return node("MatMul", {x, node("Transpose", {y}, a)}, {}, quant());
      }
      default:
        return conv(x);
    }
  }

  ValueId resize(ValueId x, ValueId scales, const Attributes& a, const float (&by)[4]) {
    const Shape s = shape(x);
    TensorType t = g_[x].type;
    t.dims = {Dim(s[0]), Dim(s[1]),
              Dim(static_cast<std::int64_t>(static_cast<float>(s[2]) * by[2])),
              Dim(static_cast<std::int64_t>(static_cast<float>(s[3]) * by[3]))};
    Node n;
    n.op = &op_named("Resize");
    n.attributes = a;
    n.inputs = {x, no_value, scales};
    n.origin.name = "n" + std::to_string(g_.nodes.size());
    n.outputs = {g_.add_value("v" + std::to_string(g_.nodes.size()), t)};
    const ValueId out = n.outputs[0];
    g_.add_node(std::move(n));
    g_[out].type = t;
    return out;
  }

  ValueId tail(ValueId x) {
    if (shape(x).rank != 4) return x;
    if (pick(0, 1)) x = node("GlobalAveragePool", {x}, {}, quant());
    x = node("Flatten", {x}, {});
    const std::int64_t in = shape(x)[1], out = pick(1, 12);
    if (in > 3000) return x;
    Quantisation q;
    Attributes a;
    a.set("transB", std::int64_t{1});
    const ValueId w =
        weights(Shape{out, in}, 0.01f / static_cast<float>(in + 4), q, pick(0, 1) == 0);
    std::vector<ValueId> inputs = {x, w};
    if (pick(0, 1)) inputs.push_back(bias(out, q, g_[x].type.quant.scale[0]));
    const std::int64_t fused = pick(0, 3);
    if (fused == 0) a.set("activation", std::string("Relu"));
    if (fused == 1) {
      a.set("activation", std::string("Clip"));
      a.set("activation_alpha", -0.2f);
      a.set("activation_beta", 0.9f);
    }
    return node(fused < 2 ? "com.microsoft.FusedGemm" : "Gemm", inputs, a, quant());
  }

  std::mt19937 rng_;
  const bool bytes_;  // the input is u8
  Graph g_;
};

/// The net with 16-bit activations: finer steps, around zero.
inline Graph widened(Graph g) {
  for (Value& v : g.values) {
    if (!v.type.quantised() || v.constant.present() || v.type.dtype != DType::i8) continue;
    v.type.dtype = DType::i16;
    v.type.quant.scale[0] /= 200;
    v.type.quant.zero_point[0] = 0;
  }
  return g;
}

}  // namespace longshore::tests
