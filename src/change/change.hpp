// Changes of a model that take a node's fallback away: what to do where an NPU's limit cannot be
// moved. None is made by itself; `build --suggest` names and tries them, `build --apply` makes
// them. One file of src/change/kinds defines one.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/list.hpp"
#include "forms/reasons.hpp"
#include "ir/pass.hpp"

namespace longshore {

/// What keeps a node from the NPU, as a change looks at it.
class Obstacles {
 public:
  explicit Obstacles(std::span<const Reason> reasons) : reasons_(reasons) {}
  std::span<const Reason> all() const { return reasons_; }
  /// The number that a fact of the node would have to have: the limit of stride_h. Nothing where
  /// that fact keeps no limit.
  std::optional<std::int64_t> limit(std::string_view fact) const;

 private:
  std::span<const Reason> reasons_;
};

/// A graph before and after the change of its last node, and what kept that from the NPU (as
/// Wanted says it; text that can be a constant).
struct ChangeCase {
  struct Keeps {
    Wanted::Kind kind;
    std::string_view what, from, to;
  };
  std::string_view before, after;  // `after` empty: it must not apply
  List<Keeps> keeps;
};

struct ChangeDef {
  std::string_view doc;
  /// False: the float model answers differently, not only within rounding.
  bool exact = true;
  /// What becomes of the answers, for people; empty: nothing.
  std::string_view answers = {};
  /// The operators that it replaces.
  List<std::string_view> operators;
  /// Whether it takes this reason away.
  bool (*removes)(const Wanted&) = nullptr;
  /// Replaces the node; false where it does not apply.
  bool (*rewrite)(Match&, const Obstacles&) = nullptr;
  List<ChangeCase> cases;
};

namespace changes {
std::span<const ChangeDef* const> all();  // generated, src/change/kinds/*.cpp
std::span<const std::string_view> names();
}  // namespace changes

/// The name of its file.
std::string_view name_of(const ChangeDef&);

/// True where the change is for the operator and takes every one of these reasons away.
bool fits(const ChangeDef&, const Node&, std::span<const Reason>);

/// The graph with the node changed; nothing where the change does not apply. Pure.
std::optional<Graph> apply(const ChangeDef&, const Graph&, std::size_t node,
                           std::span<const Reason>);

}  // namespace longshore
