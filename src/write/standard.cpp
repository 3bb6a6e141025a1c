#include "write/standard.hpp"

#include <iterator>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

/// Where an operator's `to_standard` puts its parts.
class TakingApart final : public Rewriter {
 public:
  explicit TakingApart(const Graph& g) : out_(g) { out_.nodes.clear(); }

  Graph run(const Graph& g) {
    for (const Node& n : g.nodes) {
      Node copy = n;
      origin_ = &n.origin;
      if (n.op->to_standard)
        n.op->to_standard(copy, *this);
      else if (n.op->quant != Quant::recode && !n.op->domain.empty())
        fail(Code::unsupported, "node ", describe(n), ": ONNX has no operator ",
             qualified_name(*n.op), ", nor others that do the same");
      for (Subgraph& s : copy.subgraphs) s.body = with_standard_operators(s.body);
      out_.nodes.push_back(std::move(copy));
      std::ranges::move(after_, std::back_inserter(out_.nodes));
      after_.clear();
    }
    sort_nodes(out_);
    return std::move(out_);
  }

  const Graph& graph() const override { return out_; }
  ValueId constant(Tensor tensor) override {
    return out_.add_constant(origin_->name + "_constant", std::move(tensor));
  }
  ValueId before(std::string_view name, std::vector<ValueId> inputs,
                 Attributes attributes) override {
    const OpDef& op = op_named(name);
    const ValueId v = out_.add_value(str(origin_->name, "_", op.name),
                                     moved(op) ? codes_of(inputs.at(0)) : TensorType{});
    out_.nodes.push_back({&op, std::move(inputs), {v}, std::move(attributes), {}, *origin_});
    return v;
  }
  void after(Node& n, std::string_view name, std::vector<ValueId> extra_inputs,
             Attributes attributes) override {
    const OpDef& op = op_named(name);
    const ValueId result = n.outputs.at(0);
    const ValueId inner = out_.add_value(str(out_[result].name, "_before_", op.name),
                                         moved(op) ? codes_of(result) : TensorType{});
    extra_inputs.insert(extra_inputs.begin(), inner);
    after_.insert(after_.begin(),
                  {&op, std::move(extra_inputs), {result}, std::move(attributes), {}, *origin_});
    n.outputs[0] = inner;
  }

 private:
  static bool moved(const OpDef& op) { return op.quant == Quant::same; }
  /// A type of the same codes whose dims nobody has inferred.
  TensorType codes_of(ValueId v) const {
    TensorType t = TensorType::unranked(out_[v].type.dtype);
    t.quant = out_[v].type.quant;
    return t;
  }

  Graph out_;
  std::vector<Node> after_;  // of the node in hand
  const Origin* origin_ = nullptr;
};

}  // namespace

Graph with_standard_operators(const Graph& g) { return TakingApart(g).run(g); }

}  // namespace longshore
