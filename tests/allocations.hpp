#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "cpu/kernel.hpp"
#include "ir/graph.hpp"

namespace longshore::tests {

/// Allocations since the program began, by operator new, malloc, calloc, realloc, aligned_alloc and
/// posix_memalign in our own code; -1 where they are not counted (the address sanitizer).
long allocations();
/// Bytes that were asked for since the program began.
std::size_t allocated_bytes();

/// While it lives, the nth allocation from now (1: the next) and all later ones of this thread find
/// no memory.
class NoMemory {
 public:
  explicit NoMemory(long nth);
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

/// Calls f(what `prepare` gave) with 0, 1, 2 ... allocations that find memory, until it succeeds.
/// Every status before must say that memory ran out.
template <class P, class F>
void starve(P&& prepare, F&& f) {
  if (allocations() < 0) GTEST_SKIP() << "the address sanitizer has an allocator of its own";
  for (long n = 1;; n++) {
    Status status;
    {
      auto prepared = prepare();
      const NoMemory none(n);
      status = f(std::move(prepared));
    }
    if (status.ok()) {
      EXPECT_GT(n, 1) << "nothing was allocated";
      return;
    }
    ASSERT_EQ(status.code(), Code::exhausted) << status.text() << ", allocation " << n;
    ASSERT_LT(n, 100'000);
  }
}

template <class F>
void starve(F&& f) {
  starve([] { return 0; }, [&](int) { return f(); });
}

/// Allocations of a third run of the graph on this thread's own context; -1 where they are not
/// counted.
long allocations_of_a_run(const Graph&, const std::vector<Tensor>& inputs, bool fast_kernels,
                          std::optional<cpu::Isa> = {}, int threads = 1);

}  // namespace longshore::tests
