#include "read/input_format.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "tensor/quant.hpp"

namespace longshore {
namespace {

constexpr std::int64_t to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1};

/// The weight's code of a channel that passes: with bytes of scale 1 its products are exact.
constexpr int one = 127;

class Formatter {
 public:
  Formatter(const Graph& g, const InputFormat& format, const ImageOptions& numbers)
      : out_(g), format_(format), numbers_(numbers) {}

  Graph run() {
    std::size_t found = 0;
    for (std::size_t i = 0; i < out_.inputs.size(); i++)
      if (is_picture(out_[out_.inputs[i]].type)) {
        convert(i);
        found++;
      }
    if (found == 0) {
      std::string types;
      for (ValueId v : out_.inputs)
        types += str(types.empty() ? "" : ", ", "'", out_[v].name, "': ", print(out_[v].type));
      fail(Code::bad_argument,
           "--input-type and --input-layout are for pictures: an input of f32, rank 4 and 1 or 3 "
           "channels expected, found ",
           types);
    }
    sort_nodes(out_);
    return tidy(infer(out_));
  }

 private:
  using Layout = InputFormat::Layout;

  bool is_picture(const TensorType& t) const {
    if (t.dtype != DType::f32 || t.quantised() || !t.ranked || t.rank() != 4) return false;
    const Dim channels = t.dims[channels_first(t, numbers_.layout) ? 1 : 3];
    return channels.known() && (channels.value == 1 || channels.value == 3);
  }

  /// Input i takes the new format; what read the old one reads what is made of it.
  void convert(std::size_t i) {
    const ValueId old = out_.inputs[i];
    const TensorType type = out_[old].type;
    model_nchw_ = channels_first(type, numbers_.layout);
    given_nchw_ = format_.layout == Layout::model ? model_nchw_ : format_.layout == Layout::nchw;
    channels_ = type.dims[model_nchw_ ? 1 : 3].value;
    check_numbers();
    TensorType given(format_.bytes ? DType::u8 : DType::f32, type.dims);
    if (given_nchw_ != model_nchw_)
      for (std::size_t axis = 0; axis < 4; axis++)
        given.dims[axis] =
            type.dims[static_cast<std::size_t>(given_nchw_ ? to_nchw[axis] : to_nhwc[axis])];
    if (format_.bytes) given.quant = {{1}, {0}};
    const ValueId in = out_.add_value({}, given);
    out_.inputs[i] = in;
    out_.swap_names(in, old);
    if (format_.bytes)
      read_bytes(in, old);
    else
      make(old, "Transpose", {in}, permutation(given_nchw_ ? to_nhwc : to_nchw));
  }

  void check_numbers() const {
    for (const std::vector<float>* list : {&numbers_.mean, &numbers_.std})
      if (list->size() != 1 && list->size() != static_cast<std::size_t>(channels_))
        fail(Code::bad_argument, "--mean and --std take one number or one for each of ", channels_,
             " channels, found ", list->size());
    for (float s : numbers_.std)
      if (!(s > 0) || !std::isfinite(s))
        fail(Code::bad_argument, "--std: numbers above 0 expected, found ", s);
  }
  double mean(std::int64_t c) const {
    return static_cast<double>(channel_number(numbers_.mean, c));
  }
  double deviation(std::int64_t c) const {
    return static_cast<double>(channel_number(numbers_.std, c));
  }

  void read_bytes(ValueId in, ValueId old) {
    std::vector<std::size_t> quantisers;
    bool floats = std::ranges::find(out_.outputs, old) != out_.outputs.end();
    for (std::size_t k = 0; k < out_.nodes.size(); k++) {
      const Node& n = out_.nodes[k];
      if (makes_bytes(n) && n.inputs[0] == old)
        quantisers.push_back(k);
      else
        floats |= std::ranges::find(n.inputs, old) != n.inputs.end() || captures(n, old);
    }
    if (!floats && quantisers.size() == 1 && are_bytes(out_.nodes[quantisers[0]])) {
      const ValueId codes = out_.nodes[quantisers[0]].outputs[0];
      Quantisation q = out_[codes].type.quant;
      if (out_[codes].type.dtype == DType::i8) q.zero_point[0] += 128;
      out_[in].type.quant = q;
      out_.nodes.erase(out_.nodes.begin() + static_cast<std::ptrdiff_t>(quantisers[0]));
      ValueId bytes = nchw(in);
      if (!model_nchw_) bytes = transposed(bytes, to_nhwc);
      for (Node& n : out_.nodes) std::ranges::replace(n.inputs, codes, bytes);
      return;
    }
    const ValueId pixels = nchw(in);
    for (std::size_t k : quantisers) {
      const ValueId codes = out_.nodes[k].outputs[0];
      ValueId made = codes;
      if (!model_nchw_) {
        TensorType type = TensorType::unranked(out_[codes].type.dtype);
        type.quant = out_[codes].type.quant;
        made = out_.add_value({}, type);
      }
      std::vector<ValueId> inputs = {pixels, weights(), bias()};
      const Origin origin = out_.nodes[k].origin;
      out_.nodes[k] = {&op_named("Conv"), std::move(inputs), {made}, {}, {}, origin};
      if (!model_nchw_) make(codes, "Transpose", {made}, permutation(to_nhwc));
    }
    if (floats) read_floats(pixels, old);
  }

  /// Whether the codes that this node makes are the bytes themselves, or 128 less, and whoever
  /// reads them multiplies them by weights: MAC arrays take both kinds of bytes.
  bool are_bytes(const Node& quantiser) const {
    const ValueId codes = quantiser.outputs[0];
    const TensorType& t = out_[codes].type;
    const CodeRange range = code_range(t.dtype);
    if (numbers_.bgr) return false;
    for (std::int64_t c = 0; c < channels_; c++)
      for (int byte = 0; byte < 256; byte++) {
        const double x = (byte - mean(c)) / deviation(c);
        if (quantise(static_cast<float>(x), t.quant.scale[0], t.quant.zero_point[0], range.lowest,
                     range.highest) != byte + range.lowest)
          return false;
      }
    for (const Node& n : out_.nodes) {
      if (captures(n, codes)) return false;
      for (std::size_t k = 0; k < n.inputs.size(); k++)
        if (n.inputs[k] == codes &&
            (!n.op->schema.weights() || n.op->schema.role(k) != InputRole::data))
          return false;
    }
    return std::ranges::find(out_.outputs, codes) == out_.outputs.end();
  }

  /// Floats to 8-bit codes of one scale.
  bool makes_bytes(const Node& n) const {
    if (n.op->quant != Quant::recode || n.outputs.empty()) return false;
    const TensorType& y = out_[n.outputs[0]].type;
    return y.quant.scale.size() == 1 && (y.dtype == DType::i8 || y.dtype == DType::u8);
  }
  static bool captures(const Node& n, ValueId v) {
    return std::ranges::any_of(n.subgraphs, [&](const Subgraph& s) {
      return std::ranges::find(s.captures, v) != s.captures.end();
    });
  }

  /// (byte - mean) / std as floats.
  void read_floats(ValueId pixels, ValueId old) {
    const ValueId bytes = out_.add("longshore.Dequantize", {pixels});
    std::vector<float> w(static_cast<std::size_t>(channels_ * channels_)), b;
    for (std::int64_t c = 0; c < channels_; c++) {
      w[at(c)] = static_cast<float>(1 / deviation(c));
      b.push_back(static_cast<float>(-mean(c) / deviation(c)));
    }
    const std::vector<ValueId> inputs = {
        bytes, out_.add_constant({}, make_floats(Shape{channels_, channels_, 1, 1}, w)),
        out_.add_constant({}, make_floats(Shape{channels_}, b))};
    if (model_nchw_) return make(old, "Conv", inputs, {});
    make(old, "Transpose", {out_.add("Conv", inputs)}, permutation(to_nhwc));
  }

  /// Where the weight from the given channel to channel c lies.
  std::size_t at(std::int64_t c) const {
    return static_cast<std::size_t>(c * channels_ + (numbers_.bgr ? channels_ - 1 - c : c));
  }
  ValueId weights() {
    std::vector<std::int8_t> codes(static_cast<std::size_t>(channels_ * channels_));
    Quantisation q;
    for (std::int64_t c = 0; c < channels_; c++) {
      codes[at(c)] = one;
      q.scale.push_back(static_cast<float>(1 / (one * deviation(c))));
      q.zero_point.push_back(0);
    }
    const ValueId w = out_.add_constant(
        {}, make_tensor<std::int8_t>(DType::i8, Shape{channels_, channels_, 1, 1}, codes));
    out_[w].type.quant = std::move(q);
    return w;
  }
  ValueId bias() {
    std::vector<std::int32_t> codes;
    Quantisation q;
    for (std::int64_t c = 0; c < channels_; c++) {
      const double wanted = -mean(c) * one;
      if (std::abs(wanted) > 1e9)
        fail(Code::bad_argument, "--mean: numbers near 0 to 255 expected, found ", mean(c));
      codes.push_back(static_cast<std::int32_t>(std::lround(wanted)));
      q.scale.push_back(static_cast<float>(1 / (one * deviation(c))));
      q.zero_point.push_back(0);
    }
    const ValueId b =
        out_.add_constant({}, make_tensor<std::int32_t>(DType::i32, Shape{channels_}, codes));
    out_[b].type.quant = std::move(q);
    return b;
  }

  ValueId nchw(ValueId in) { return given_nchw_ ? in : transposed(in, to_nchw); }
  ValueId transposed(ValueId from, std::span<const std::int64_t> perm) {
    TensorType type = out_[from].type;
    const std::vector<Dim> dims = type.dims;
    for (std::size_t i = 0; i < dims.size(); i++)
      type.dims[i] = dims[static_cast<std::size_t>(perm[i])];
    const ValueId to = out_.add_value({}, type);
    make(to, "Transpose", {from}, permutation(perm));
    return to;
  }
  static Attributes permutation(std::span<const std::int64_t> perm) {
    Attributes a;
    a.set("perm", Ints(perm.begin(), perm.end()));
    return a;
  }
  /// A node that computes a value that is there.
  void make(ValueId to, std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
    out_.nodes.push_back({&op_named(op),
                          std::move(inputs),
                          {to},
                          std::move(attributes),
                          {},
                          {out_[to].name, {}, 0}});
  }

  Graph out_;
  const InputFormat& format_;
  const ImageOptions& numbers_;
  bool model_nchw_ = true, given_nchw_ = true;
  std::int64_t channels_ = 3;
};

}  // namespace

Graph with_input_format(const Graph& g, const InputFormat& format, const ImageOptions& numbers) {
  return format.changes() ? Formatter(g, format, numbers).run() : g;
}

}  // namespace longshore
