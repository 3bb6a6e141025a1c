#include <algorithm>
#include <numeric>

#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

/// One index of one axis, which then is gone.
struct Taken {
  ValueId from = no_value;
  std::int64_t axis = 0, index = 0;
};

std::optional<std::vector<std::int64_t>> integers(const Match& m, ValueId v) {
  const Tensor* t = m.constant(v);
  if (!t || t->dtype != DType::i64) return {};
  const auto values = t->values<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

/// A Slice of one element, or an output of a Split into single ones, behind a Squeeze; or a Gather.
std::optional<Taken> taken(const Match& m) {
  const Node& n = m.node();
  if (m.is("Gather")) {
    const Tensor* index = m.constant(n.input(1));
    const auto at = integers(m, n.input(1));
    if (!at || at->size() != 1 || index->shape.rank != 0) return {};
    return Taken{n.input(0), n.attributes.integer("axis"), (*at)[0]};
  }
  if (!m.is("Squeeze")) return {};
  const auto squeezed = integers(m, n.input(1));
  const Node* def = m.graph().def(n.input(0));
  if (!squeezed || squeezed->size() != 1 || !def) return {};
  Taken out{def->input(0), 0, 0};
  if (m.is(*def, "Slice")) {
    const auto from = integers(m, def->input(1)), axes = integers(m, def->input(3));
    if (!from || !axes || from->size() != 1 || axes->size() != 1) return {};
    out.axis = (*axes)[0], out.index = (*from)[0];
  } else if (m.is(*def, "Split")) {
    out.axis = def->attributes.integer("axis");
    for (std::size_t i = 0; i < def->outputs.size() && def->outputs[i] != n.input(0); i++)
      out.index++;
  } else {
    return {};
  }
  const TensorType& part = m.type(n.input(0));
  if (!part.ranked || out.axis < 0 || out.axis >= part.rank() || (*squeezed)[0] != out.axis ||
      !(part.dims[static_cast<std::size_t>(out.axis)] == Dim(1)) ||
      (m.is(*def, "Split") && !std::ranges::all_of(def->outputs, [&](ValueId v) {
         return m.type(v).dims[static_cast<std::size_t>(out.axis)] == Dim(1);
       })))
    return {};
  return out;
}

bool rewrite(Match& m) {
  const std::optional<Taken> take = taken(m);
  const Node* turn = take ? m.def(take->from, "Transpose") : nullptr;
  const Node* shape = turn ? m.def(turn->inputs[0], "Reshape") : nullptr;
  if (!shape) return false;
  const TensorType &x = m.type(shape->inputs[0]), &wide = m.type(shape->outputs[0]);
  const auto perm = turn->attributes.integers("perm");
  if (!x.ranked || !wide.ranked || x.rank() < 1 || wide.rank() < 5 ||
      perm.size() != static_cast<std::size_t>(wide.rank()) || take->axis < 0 ||
      take->axis >= wide.rank())
    return false;
  // Axis `from` of the reshaped value is the first of those that x's last axis was cut into.
  const auto from = static_cast<std::size_t>(perm[static_cast<std::size_t>(take->axis)]);
  std::int64_t inner = 1, unknown = 0;
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < wide.dims.size(); i++) {
    if (i > from && !wide.dims[i].known()) return false;
    if (i > from) inner *= wide.dims[i].value;
    if (i == from) continue;
    unknown += !wide.dims[i].known();
    dims.push_back(wide.dims[i].known() ? wide.dims[i].value : -1);
  }
  const Dim last = x.dims.back();
  if (!wide.dims[from].known() || unknown > 1 || take->index < 0 ||
      take->index >= wide.dims[from].value || !last.known() ||
      last.value != wide.dims[from].value * inner || std::ranges::find(dims, 0) != dims.end())
    return false;
  Ints order;
  for (std::size_t i = 0; i < perm.size(); i++)
    if (static_cast<std::int64_t>(i) != take->axis)
      order.push_back(perm[i] - (perm[i] > static_cast<std::int64_t>(from) ? 1 : 0));
  const ValueId part =
      sliced(m, shape->inputs[0], x.rank() - 1, take->index * inner, (take->index + 1) * inner);
  m.replace(m.node().outputs[0], transposed(m, reshaped(m, part, dims), order));
  return true;
}

}  // namespace

extern constinit const Pass pass_slice_before_heads = {
    .stage = Stage::simplify,
    .doc =
        "One of several matrices that a product made side by side (an attention's queries, keys "
        "and values) is cut from its columns, before they become heads, with an axis less.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[N,7,24]) { r = Reshape(x, i64[5]{0, 7, 3, 2, 4}) t = Transpose(r, "
               "perm=[2,0,3,1,4]) y = Gather(t, i64[]{1}) return y }",
               "(x: f32[N,7,24]) { s = Slice(x, i64[1]{8}, i64[1]{16}, i64[1]{2}) r = Reshape(s, "
               "i64[4]{-1, 7, 2, 4}) y = Transpose(r, perm=[0,2,1,3]) return y }"},
              {"(x: f32[2,7,24]) { r = Reshape(x, i64[5]{2, 7, 3, 2, 4}) t = Transpose(r, "
               "perm=[2,0,3,1,4]) s = Slice(t, i64[1]{2}, i64[1]{3}, i64[1]{0}) y = Squeeze(s, "
               "i64[1]{0}) return y }",
               "(x: f32[2,7,24]) { s = Slice(x, i64[1]{16}, i64[1]{24}, i64[1]{2}) r = Reshape(s, "
               "i64[4]{2, 7, 2, 4}) y = Transpose(r, perm=[0,2,1,3]) return y }"},
              {"(x: f32[2,7,24]) { r = Reshape(x, i64[5]{2, 7, 3, 2, 4}) t = Transpose(r, "
               "perm=[2,0,3,1,4]) a, b, c = Split(t, axis=0, num_outputs=3) y = Squeeze(b, "
               "i64[1]{0}) return y }",
               "(x: f32[2,7,24]) { s = Slice(x, i64[1]{8}, i64[1]{16}, i64[1]{2}) r = Reshape(s, "
               "i64[4]{2, 7, 2, 4}) y = Transpose(r, perm=[0,2,1,3]) return y }"},
              // The heads come before the three.
              {"(x: f32[2,7,24]) { r = Reshape(x, i64[5]{2, 7, 2, 3, 4}) t = Transpose(r, "
               "perm=[3,0,2,1,4]) y = Gather(t, i64[]{1}) return y }",
               ""}},
};

}  // namespace longshore::passes
