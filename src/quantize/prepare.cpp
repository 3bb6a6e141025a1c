#include "quantize/prepare.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

/// Where an operator's `to_integer` puts what it takes out of a node.
class Preparer final : public Rewriter {
 public:
  explicit Preparer(const Graph& from)
      : from_(from), readers_(from.values.size()), uses_(use_counts(from)), out_(from) {
    out_.nodes.clear();
    for (const Node& n : from.nodes)
      for (ValueId v : n.inputs)
        if (v != no_value) readers_[index(v)] = &n;
  }

  Graph run(const std::function<bool(const Node&)>& wanted) {
    for (const Node& n : from_.nodes) {
      Node copy = n;
      if (n.op->to_integer && wanted(n)) n.op->to_integer(copy, *this);
      for (std::size_t i = 0; i < copy.inputs.size() && i < n.inputs.size(); i++)
        if (copy.inputs[i] != n.inputs[i] && n.inputs[i] != no_value &&
            out_.constant(copy.inputs[i]))
          copy.inputs[i] = out_.add_constant(out_[n.inputs[i]].name + "_prepared",
                                             out_[copy.inputs[i]].constant);
      out_.nodes.push_back(std::move(copy));
      std::ranges::move(after_, std::back_inserter(out_.nodes));
      after_.clear();
    }
    sort_nodes(out_);
    return tidy(infer(out_));
  }

  const Graph& graph() const override { return out_; }
  ValueId constant(Tensor tensor) override { return out_.add_constant({}, std::move(tensor)); }
  ValueId before(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) override {
    const ValueId v = out_.add_value({}, {});
    out_.nodes.push_back({&op_named(op), std::move(inputs), {v}, std::move(attributes), {}, {}});
    return v;
  }
  void after(Node& n, std::string_view op, std::vector<ValueId> extra_inputs,
             Attributes attributes) override {
    const ValueId result = n.outputs.at(0);
    const ValueId inner = out_.add_value(str(out_[result].name, "_before_", op), out_[result].type);
    std::vector<ValueId> inputs = {inner};
    inputs.insert(inputs.end(), extra_inputs.begin(), extra_inputs.end());
    after_.push_back(
        {&op_named(op), std::move(inputs), {result}, std::move(attributes), {}, n.origin});
    n.outputs[0] = inner;
  }
  const Node* only_reader(ValueId v) const override {
    return index(v) < uses_.size() && uses_[index(v)] == 1 ? readers_[index(v)] : nullptr;
  }

 private:
  const Graph& from_;
  std::vector<const Node*> readers_;  // by value: the last of them
  std::vector<int> uses_;
  Graph out_;
  std::vector<Node> after_;  // of the node in hand
};

}  // namespace

Graph prepare_for_quantisation(const Graph& g, const std::function<bool(const Node&)>& wanted) {
  return Preparer(g).run(wanted);
}

}  // namespace longshore
