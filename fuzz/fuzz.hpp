#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>

#include "base/error.hpp"

namespace longshore::fuzz {

/// An Error is an answer; one that calls itself a bug, and every other exception, is a find.
template <class F>
int attempt(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (e.code() == Code::internal) {
      std::cerr << e.what() << std::endl;
      std::abort();
    }
  }
  return 0;
}

inline std::span<const std::byte> bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

}  // namespace longshore::fuzz
