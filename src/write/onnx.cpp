// Graph -> protobuf messages -> ONNX. standard.cpp and explicit_scales.cpp bring the graph into
// operators of ONNX first; here each is written as it is.
#include "write/onnx.hpp"

#include <onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "ir/recode.hpp"
#include "write/standard.hpp"

namespace longshore {
namespace {

constexpr int least_opset = 21;

/// The first version of the file format that had the opset.
int format_of(int opset) { return opset <= 22 ? 10 : opset == 23 ? 11 : opset == 24 ? 12 : 13; }

/// Protobuf counts the bytes of a message with 31 bits.
constexpr std::uint64_t bytes_limit = (std::uint64_t{1} << 31) - 1;

[[noreturn]] void too_large(std::uint64_t bytes) {
  fail(Code::exhausted, "the model takes ", bytes, " bytes, an ONNX file at most ", bytes_limit,
       "; weights in a file of their own are not written yet");
}

void set_type(onnx::TypeProto& to, const TensorType& t) {
  onnx::TypeProto::Tensor& tensor = *to.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(t.dtype));
  if (!t.ranked) return;
  onnx::TensorShape& shape = *tensor.mutable_shape();
  for (const Dim& d : t.dims) {
    auto& dim = *shape.add_dim();
    if (d.known())
      dim.set_dim_value(d.value);
    else if (!d.symbol.empty())
      dim.set_dim_param(d.symbol);
  }
}

/// Codes of 2 and 4 bits lie in a file packed, the first in the lowest bits.
std::string file_form(const Tensor& t) {
  const std::span<const std::byte> bytes = t.blob->bytes().first(t.bytes());
  const auto bits = static_cast<unsigned>(file_bits(t.dtype));
  if (bits >= 8) return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const unsigned per_byte = 8 / bits;
  std::string out((bytes.size() + per_byte - 1) / per_byte, '\0');
  for (std::size_t i = 0; i < bytes.size(); i++) {
    const unsigned code = static_cast<unsigned>(bytes[i]) & ((1u << bits) - 1);
    char& to = out[i / per_byte];
    to = static_cast<char>(static_cast<unsigned char>(to) | code << (i % per_byte * bits));
  }
  return out;
}

void set_tensor(onnx::TensorProto& to, const Tensor& t) {
  for (const std::int64_t d : t.shape) to.add_dims(d);
  to.set_data_type(static_cast<int>(t.dtype));
  to.set_raw_data(file_form(t));
}

/// The fields and the numbers of AttributeProto.type.
void set_attribute(onnx::AttributeProto& to, const Attribute& a) {
  struct Setter {
    onnx::AttributeProto& to;
    int operator()(std::int64_t x) const { return to.set_i(x), 2; }
    int operator()(float x) const { return to.set_f(x), 1; }
    int operator()(const std::string& x) const { return to.set_s(x), 3; }
    int operator()(const Ints& x) const { return to.mutable_ints()->Add(x.begin(), x.end()), 7; }
    int operator()(const Reals& x) const { return to.mutable_floats()->Add(x.begin(), x.end()), 6; }
    int operator()(const Texts& x) const {
      for (const std::string& text : x) to.add_strings(text);
      return 8;
    }
    int operator()(const Tensor& x) const { return set_tensor(*to.mutable_t(), x), 4; }
  };
  to.set_name(a.name);
  to.set_type(std::visit(Setter{to}, a.value));
}

class Writer {
 public:
  explicit Writer(int opset) : opset_(opset) {}

  void graph(onnx::GraphProto& to, const Graph& g, std::vector<std::string> names) {
    to.set_name(g.name.empty() ? "graph" : g.name);
    names.resize(g.values.size());
    // Names of a body must not be those of the graph around it. The main graph comes first, so that
    // inputs and outputs keep theirs.
    for (std::size_t i = 0; i < names.size(); i++)
      if (names[i].empty()) names[i] = unique(values_, g.values[i].name);
    for (const ValueId v : g.inputs) declare(*to.add_input(), g[v], names[index(v)]);
    for (std::size_t i = 0; i < g.values.size(); i++) {
      if (!g.values[i].constant.present()) continue;
      onnx::TensorProto& t = *to.add_initializer();
      set_tensor(t, g.values[i].constant);
      t.set_name(names[i]);
    }
    for (const Node& n : g.nodes) node(*to.add_node(), n, names);
    std::unordered_set<std::string> given;
    for (const ValueId v : g.outputs) {
      std::string name = names[index(v)];
      if (!given.insert(name).second) name = copy(to, name);
      declare(*to.add_output(), g[v], name);
    }
  }

  int opset() const { return opset_; }

 private:
  static std::string unique(std::unordered_set<std::string>& taken, const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !taken.insert(name).second; i++) name = str(wanted, "_", i);
    return name;
  }

  /// Not one of several of a kind: ONNX Runtime ends with a signal where such a one has no name.
  static bool may_be_absent(const OpDef& op, std::size_t output) {
    const auto& outputs = op.schema.outputs;
    return outputs[std::min(output, outputs.size() - 1)].presence != Presence::variadic;
  }

  static void declare(onnx::ValueInfo& to, const Value& v, const std::string& name) {
    to.set_name(name);
    set_type(*to.mutable_type(), v.type);
  }

  /// An output of the graph must not be listed twice.
  std::string copy(onnx::GraphProto& to, const std::string& from) {
    onnx::NodeProto& n = *to.add_node();
    n.set_op_type(std::string(ops::op_identity::definition.name));
    n.add_input(from);
    n.add_output(unique(values_, from));
    n.set_name(unique(nodes_, n.output(0)));
    return n.output(0);
  }

  void node(onnx::NodeProto& to, const Node& n, const std::vector<std::string>& names) {
    check(n.op->domain.empty(), "an operator that ONNX lacks was left over");
    opset_ = std::max(opset_, n.op->came);
    to.set_op_type(std::string(n.op->name));
    if (!n.origin.name.empty()) to.set_name(unique(nodes_, n.origin.name));
    for (const ValueId v : n.inputs) to.add_input(v == no_value ? "" : names[index(v)]);
    for (std::size_t i = 0; i < n.outputs.size(); i++) {
      const ValueId v = n.outputs[i];
      to.add_output(v != no_value             ? names[index(v)]
                    : may_be_absent(*n.op, i) ? ""
                                              : unique(values_, to.name() + "_unused"));
    }
    for (const Attribute& a : n.attributes) set_attribute(*to.add_attribute(), a);
    for (const Subgraph& s : n.subgraphs) {
      onnx::AttributeProto& a = *to.add_attribute();
      a.set_name(s.name);
      a.set_type(5);
      std::vector<std::string> captured(s.body.values.size());
      for (std::size_t i = 0; i < s.captures.size(); i++)
        captured[index(s.body.captured[i])] = names[index(s.captures[i])];
      graph(*a.mutable_g(), s.body, std::move(captured));
    }
  }

  int opset_;
  std::unordered_set<std::string> values_, nodes_;  // names that are taken
};

std::uint64_t constant_bytes(const Graph& g) {
  std::uint64_t bytes = 0;
  for (const Value& v : g.values)
    if (v.constant.present()) bytes += v.constant.bytes();
  for (const Node& n : g.nodes)
    for (const Subgraph& s : n.subgraphs) bytes += constant_bytes(s.body);
  return bytes;
}

}  // namespace

OnnxFile onnx_file(const Graph& quantised, const OnnxOptions& options) {
  const Graph g = with_explicit_scales(with_standard_operators(quantised), options.unsigned_bytes);
  if (const std::uint64_t bytes = constant_bytes(g); bytes > bytes_limit) too_large(bytes);
  onnx::ModelProto model;
  Writer writer(std::max(options.opset, least_opset));
  writer.graph(*model.mutable_graph(), g, {});
  model.set_ir_version(format_of(writer.opset()));
  model.set_producer_name("longshore");
  onnx::OperatorSet& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(writer.opset());
  for (const auto& [key, value] : options.metadata) {
    onnx::StringPair& pair = *model.add_metadata_props();
    pair.set_key(key);
    pair.set_value(value);
  }
  if (model.ByteSizeLong() > bytes_limit) too_large(model.ByteSizeLong());
  OnnxFile out{std::vector<std::byte>(model.ByteSizeLong()), writer.opset()};
  check(model.SerializeToArray(out.bytes.data(), static_cast<int>(out.bytes.size())),
        "a model is not written");
  return out;
}

}  // namespace longshore
