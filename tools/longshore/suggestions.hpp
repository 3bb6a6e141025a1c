#pragma once
#include <iosfwd>
#include <vector>

#include "compile/fallbacks.hpp"
#include "json.hpp"

namespace longshore {

/// What `build --suggest` prints: for each kind of fallback its limits, its price, the change that
/// removes it and what the whole model takes after it.
void show_suggestions(std::ostream&, const compile::Compiled&,
                      const std::vector<compile::Suggestion>&);
/// The same for `--json`.
Json to_json(const compile::Compiled&, const std::vector<compile::Suggestion>&);

}  // namespace longshore
