#pragma once
#include <cstddef>
#include <initializer_list>

namespace longshore {

/// A list of at most N items, usable in constants.
template <class T, std::size_t N = 8>
struct List {
  T items[N]{};
  std::size_t count = 0;

  constexpr List() = default;
  constexpr List(std::initializer_list<T> from) {
    for (const T& item : from) items[count++] = item;
  }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
};

}  // namespace longshore
