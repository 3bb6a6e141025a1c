#pragma once

namespace longshore {

/// The most graphs or programs inside one another, the outermost not counted. One number for
/// readers, text, bundles and engines: what one of them takes, all take.
inline constexpr int deepest_nesting = 32;

}  // namespace longshore
