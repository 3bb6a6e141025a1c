// Replaces operator new for the whole test program, in a file of its own, to count its calls.
#include "allocations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

namespace {
std::atomic<long> count{0};
}

#if defined(__SANITIZE_ADDRESS__)
namespace longshore::tests {
long allocations() { return -1; }
}  // namespace longshore::tests
#else
void* operator new(std::size_t size) {
  count++;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace longshore::tests {
long allocations() { return count; }

TEST(Allocations, AreCounted) {
  const long before = allocations();
  std::make_unique<int[]>(100).reset();
  EXPECT_GT(allocations(), before);
}
}  // namespace longshore::tests
#endif
