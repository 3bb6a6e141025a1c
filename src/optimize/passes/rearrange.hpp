// Views and moves that passes put around an operator.
#pragma once
#include <vector>

#include "ir/pass.hpp"

namespace longshore::passes {

inline ValueId add_integers(Match& m, const Ints& values) {
  return m.add_constant(make_ints(values));
}

/// v with these dims; 0 keeps the dim at its place.
inline ValueId reshaped(Match& m, ValueId v, const Ints& dims) {
  return m.add("Reshape", {v, add_integers(m, dims)});
}

inline ValueId transposed(Match& m, ValueId v, Ints perm) {
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return m.add("Transpose", {v}, std::move(attributes));
}

inline ValueId concatenated(Match& m, const std::vector<ValueId>& parts, std::int64_t axis) {
  if (parts.size() == 1) return parts.front();
  Attributes attributes;
  attributes.set("axis", axis);
  return m.add("Concat", parts, std::move(attributes));
}

/// Elements [from, to) of one axis.
inline ValueId sliced(Match& m, ValueId v, std::int64_t axis, std::int64_t from, std::int64_t to) {
  return m.add("Slice",
               {v, add_integers(m, {from}), add_integers(m, {to}), add_integers(m, {axis})});
}

}  // namespace longshore::passes
