#include "ops/softmax.hpp"

namespace longshore::ops {

void normalise_softmax(Node& n, int opset, Rewriter& r) {
  if (opset >= 13) return;
  const std::int64_t axis = n.attributes.integer("axis", 1);
  const TensorType& x = r.graph()[n.inputs[0]].type;
  n.attributes.set("axis", std::int64_t{-1});
  if (axis == -1 || (x.ranked && axis == x.rank() - 1)) return;
  Attributes flat;
  flat.set("axis", axis);
  const ValueId dims = r.before("Shape", {n.inputs[0]});
  n.inputs[0] = r.before("Flatten", {n.inputs[0]}, flat);
  r.after(n, "Reshape", {dims});
}

void infer_rows(InferContext& c) {
  const TensorType x = c.input(0);
  const std::int64_t axis = c.attributes().integer("axis", -1);
  if (x.ranked && x.rank() > 0 && resolve_axis(axis, x.rank()) < 0)
    c.fail("axis " + std::to_string(axis) + " is out of range for " + print(x));
  c.output(0, x);
}

Status axis_out_of_range(int rank) noexcept {
  return Status::error(Code::bad_argument, "the axis is out of range for rank %d", rank);
}

}  // namespace longshore::ops
