#pragma once
#include <cstddef>
#include <optional>
#include <vector>

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

/// Allocations of a third run of the graph on this thread's own context; -1 where they are not
/// counted.
long allocations_of_a_run(const Graph&, const std::vector<Tensor>& inputs, bool fast_kernels,
                          std::optional<cpu::Isa> = {}, int threads = 1);

}  // namespace longshore::tests
