// When an integer division has an answer.
#pragma once
#include <limits>
#include <type_traits>

#include "base/status.hpp"

namespace longshore::ops {

/// False, with an error in `status`, for a zero divisor and for the smallest integer over -1.
template <class T>
bool divides(T a, T b, Status& status) noexcept {
  if (b == 0) {
    status = Status::error(Code::arithmetic, "integer division by zero");
    return false;
  }
  if constexpr (std::is_signed_v<T>)
    if (b == T{-1} && a == std::numeric_limits<T>::min()) {
      status =
          Status::error(Code::arithmetic, "integer overflow: the smallest number divided by -1");
      return false;
    }
  return true;
}

}  // namespace longshore::ops
