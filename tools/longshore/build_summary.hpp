#pragma once
#include <iosfwd>

#include "compile/compile.hpp"

namespace longshore {

/// What fits on a screen: the dearest layers, and the fallbacks of one kind together. All nodes
/// where these are few. At most 80 columns.
void show_summary(std::ostream&, const compile::Compiled&);

}  // namespace longshore
