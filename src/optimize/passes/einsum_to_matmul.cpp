#include <algorithm>
#include <string>

#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

/// The letters of "ab,bc->ac", or nothing where there is an ellipsis, no result, or a letter twice
/// in a term.
struct Equation {
  std::string a, b, y;
};
std::optional<Equation> equation_of(const Node& n) {
  std::string text;
  for (char c : n.attributes.text("equation", ""))
    if (c != ' ') text += c;
  const std::size_t comma = text.find(','), arrow = text.find("->");
  if (n.inputs.size() != 2 || comma == std::string::npos || arrow == std::string::npos ||
      comma > arrow || text.find('.') != std::string::npos)
    return {};
  Equation e{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
             text.substr(arrow + 2)};
  for (const std::string* term : {&e.a, &e.b, &e.y})
    for (char c : *term)
      if (std::ranges::count(*term, c) != 1) return {};
  return e;
}

bool has(const std::string& term, char c) { return term.find(c) != std::string::npos; }

/// The order of axes that makes `to` of `from`.
Ints order(const std::string& from, const std::string& to) {
  Ints perm;
  for (char c : to) perm.push_back(static_cast<std::int64_t>(from.find(c)));
  return perm;
}

ValueId arranged(Match& m, ValueId v, const std::string& from, const std::string& to) {
  return from == to ? v : transposed(m, v, order(from, to));
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Einsum")) return false;
  const std::optional<Equation> e = equation_of(n);
  if (!e) return false;
  const TensorType &a = m.type(n.inputs[0]), &b = m.type(n.inputs[1]);
  if (!a.ranked || !b.ranked || a.rank() != static_cast<int>(e->a.size()) ||
      b.rank() != static_cast<int>(e->b.size()) || (a.dtype != DType::f32))
    return false;
  // Letters of both that are kept or summed, and of one alone.
  std::string batch, rows, columns, summed;
  for (char c : e->y) (has(e->a, c) ? has(e->b, c) ? batch : rows : columns) += c;
  for (char c : e->a) {
    if (has(e->y, c)) continue;
    if (!has(e->b, c)) return false;
    summed += c;
  }
  for (char c : e->b)
    if (!has(e->y, c) && !has(e->a, c)) return false;
  if (rows.empty() && columns.empty()) return false;  // a dot product: no matrix
  const auto dim = [&](char c) {
    return has(e->a, c) ? a.dims[e->a.find(c)] : b.dims[e->b.find(c)];
  };
  for (char c : batch + summed) {
    const Dim other = b.dims[e->b.find(c)];
    if (!dim(c).known() || !other.known() || dim(c).value != other.value) return false;
  }
  for (char c : rows + columns)
    if (!dim(c).known() || dim(c).value < 1) return false;
  const auto size = [&](const std::string& letters) {
    std::int64_t all = 1;
    for (char c : letters) all *= dim(c).value;
    return all;
  };
  const auto dims = [&](std::initializer_list<std::int64_t> last) {
    std::vector<std::int64_t> out;
    for (char c : batch) out.push_back(dim(c).value);
    out.insert(out.end(), last);
    return out;
  };
  ValueId left = arranged(m, n.inputs[0], e->a, batch + rows + summed),
          right = arranged(m, n.inputs[1], e->b, batch + summed + columns);
  if (rows.size() != 1 || summed.size() != 1)
    left = reshaped(m, left, dims({size(rows), size(summed)}));
  if (columns.size() != 1 || summed.size() != 1)
    right = reshaped(m, right, dims({size(summed), size(columns)}));
  ValueId y = m.add("MatMul", {left, right});
  if (rows.size() != 1 || columns.size() != 1) {
    std::vector<std::int64_t> out = dims({});
    for (char c : rows + columns) out.push_back(dim(c).value);
    y = reshaped(m, y, out);
  }
  m.replace(n.outputs[0], arranged(m, y, batch + rows + columns, e->y));
  return true;
}

}  // namespace

extern constinit const Pass pass_einsum_to_matmul = {
    .stage = Stage::simplify,
    .doc =
        "An Einsum of two tensors that sums only letters of both is a MatMul between transposes "
        "and reshapes.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[2,3], w: f32[4,3]) { y = Einsum(x, w, equation=\"ab,cb->ac\") return y }",
          "(x: f32[2,3], w: f32[4,3]) { t = Transpose(w, perm=[1,0]) y = MatMul(x, t) return y }"},
         {"(x: f32[2,5,3,4], w: f32[3,4,6]) { y = Einsum(x, w, equation=\"btgi,gih->btgh\") return "
          "y }",
          "(x: f32[2,5,3,4], w: f32[3,4,6]) { t = Transpose(x, perm=[2,0,1,3]) r = Reshape(t, "
          "i64[3]{3, 10, 4}) p = MatMul(r, w) q = Reshape(p, i64[4]{3, 2, 5, 6}) y = Transpose(q, "
          "perm=[1,2,0,3]) return y }"},
         {"(x: f32[2,3,4], w: f32[3,4]) { y = Einsum(x, w, equation=\"bij, ij->b\") return y }",
          "(x: f32[2,3,4], w: f32[3,4]) { l = Reshape(x, i64[2]{2, 12}) r = Reshape(w, i64[2]{12, "
          "1}) p = MatMul(l, r) y = Reshape(p, i64[1]{2}) return y }"},
         // A letter of one operand alone is summed; the diagonal; a dot product.
         {"(x: f32[2,3], w: f32[3,4]) { y = Einsum(x, w, equation=\"ab,bc->a\") return y }", ""},
         {"(x: f32[3,3], w: f32[3,4]) { y = Einsum(x, w, equation=\"aa,ab->b\") return y }", ""},
         {"(x: f32[3], w: f32[3]) { y = Einsum(x, w, equation=\"a,a->\") return y }", ""}},
};

}  // namespace longshore::passes
