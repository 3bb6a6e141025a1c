#include "change/change.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace longshore {

std::optional<std::int64_t> Obstacles::limit(std::string_view fact) const {
  for (const Reason& r : reasons_) {
    if (r.wanted.kind != Wanted::Kind::fact || r.wanted.what != fact) continue;
    std::int64_t out = 0;
    const std::string& to = r.wanted.to;
    const auto [end, error] = std::from_chars(to.data(), to.data() + to.size(), out);
    check(error == std::errc() && end == to.data() + to.size(), "a limit is no number");
    return out;
  }
  return {};
}

std::string_view name_of(const ChangeDef& change) {
  const auto all = changes::all();
  for (std::size_t i = 0; i < all.size(); i++)
    if (all[i] == &change) return changes::names()[i];
  return {};
}

bool fits(const ChangeDef& change, const Node& n, std::span<const Reason> reasons) {
  return std::ranges::find(change.operators, qualified_name(*n.op)) != change.operators.end() &&
         !reasons.empty() &&
         std::ranges::all_of(reasons, [&](const Reason& r) { return change.removes(r.wanted); });
}

std::optional<Graph> apply(const ChangeDef& change, const Graph& g, std::size_t node,
                           std::span<const Reason> reasons) {
  const Obstacles obstacles(reasons);
  return rewrite_node(g, node, [&](Match& m) { return change.rewrite(m, obstacles); });
}

}  // namespace longshore
