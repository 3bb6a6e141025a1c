#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/op.hpp"
#include "read/onnx_tensor.hpp"

namespace longshore::onnx {

/// Domain -> version, for the nodes of a model or of a function. "" is ai.onnx.
using Opsets = std::map<std::string, int, std::less<>>;
Opsets read_opsets(const google::protobuf::RepeatedPtrField<OperatorSet>&);

/// The functions of the model, by domain, name and overload.
using Functions = std::map<std::string, FunctionProto*, std::less<>>;
std::string function_key(std::string_view domain, std::string_view name, std::string_view overload);

/// "ai.onnx" and "" are one domain.
std::string_view plain_domain(std::string_view domain);

using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;

/// Throws one error that lists all operators that Longshore lacks.
void check_operators(ModelProto&, const Functions&, const ReadLimits&);

/// The nodes in topological order; stable, so a sorted list stays as it is. Captures of subgraphs
/// count as inputs. Throws on a cycle, naming two of its nodes. `moved`: set to the first node that
/// was listed too early, if there is one.
std::vector<NodeProto*> sorted(NodeList&, const NodeProto*& moved);

/// "node 'name' (Op)".
std::string describe(const NodeProto&);

/// Names of values -> values, for one graph or one inlined function.
struct Scope {
  Graph& graph;
  std::unordered_set<std::string>& taken;  // names of the graph's values
  std::unordered_map<std::string, ValueId> names;
  Scope* outer = nullptr;        // lexically around; null for the main graph and for functions
  Subgraph* subgraph = nullptr;  // whose body `graph` is
};

/// What the nodes of one list have in common.
struct Surroundings {
  const Opsets& opsets;
  const std::map<std::string, AttributeProto*, std::less<>>* arguments =
      nullptr;         // of the function around
  std::string prefix;  // of names in a function
  const std::map<std::string, std::string, std::less<>>* result_names =
      nullptr;  // of the function around
  int depth = 0;
};

/// Turns protobuf messages into a Graph.
class Importer {
 public:
  Importer(ModelProto& model, Source& source, Opsets opsets, Functions functions)
      : model_(model),
        source_(source),
        opsets_(std::move(opsets)),
        functions_(std::move(functions)) {}

  Graph run(ReadResult&);

 private:
  void read_graph(Scope&, GraphProto&, const Surroundings&, ReadResult*);
  void read_nodes(Scope&, NodeList&, const Surroundings&, const std::string& where);
  void read_node(Scope&, NodeProto&, const Surroundings&);
  void read_constant(Scope&, NodeProto&, const Surroundings&);
  void call(Scope&, FunctionProto&, NodeProto&, const Surroundings&);
  /// The attribute, or the argument that it refers to, or null where that was not given.
  AttributeProto* resolve(AttributeProto&, const Surroundings&, const NodeProto&);
  void read_attribute(Scope&, Node&, const std::string& name, AttributeProto&, const Surroundings&,
                      const NodeProto&);

  ValueId lookup(Scope&, const std::string& name);
  ValueId require_value(Scope&, const std::string& name, const NodeProto&);
  ValueId new_value(Scope&, std::string name, TensorType);
  ValueId new_constant(Scope&, std::string name, Tensor);
  void bind(Scope&, const std::string& name, ValueId, const std::string& what);
  std::string value_name(const std::string& name, const Surroundings&) const;
  bool may_take(const Surroundings& s) const { return s.arguments == nullptr; }

  ModelProto& model_;
  Source& source_;
  Opsets opsets_;
  Functions functions_;
  std::size_t nodes_ = 0, inlined_bytes_ = 0;
};

}  // namespace longshore::onnx
