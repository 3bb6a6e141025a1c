#pragma once
#include <new>
#include <type_traits>

#include "base/status.hpp"

namespace longshore {

inline Status out_of_memory() noexcept { return Status::error(Code::exhausted, "out of memory"); }

/// Runs f, which gives a Status or a Result; where memory ran out on the way, a Status says so. The
/// entrances of the runtime use it, nothing else catches (docs/adr/0004): the containers within may
/// throw, so what they are called from is not noexcept.
template <class F>
auto guarded(F&& f) noexcept -> std::invoke_result_t<F&> {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace longshore
