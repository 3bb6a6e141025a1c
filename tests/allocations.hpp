#pragma once

namespace longshore::tests {

/// Calls of operator new since the program began; -1 where they are not counted (sanitizers).
long allocations();

}  // namespace longshore::tests
