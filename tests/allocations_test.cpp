// Replaces operator new, and by the linker's --wrap the C functions, for the whole test program, in
// a file of its own: counts calls, and lets a test run out of memory.
#include "allocations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "lower/cpu.hpp"
#include "measure/runner.hpp"

// The sanitizers bring operators of their own, which cannot be replaced.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LONGSHORE_COUNTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LONGSHORE_COUNTS 0
#endif
#endif
#ifndef LONGSHORE_COUNTS
#define LONGSHORE_COUNTS 1
#endif

namespace {

std::atomic<long> count{0};
std::atomic<std::size_t> bytes{0};
thread_local long left = -1;  // allocations that still find memory; -1: all

/// Notes one; false if it shall find no memory.
bool note(std::size_t size) {
  if (left == 0) return false;
  if (left > 0) left--;
  count++;
  bytes += size;
  return true;
}

}  // namespace

// NOLINTBEGIN: the names are the linker's
extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);
int __real_posix_memalign(void**, std::size_t, std::size_t);

void* __wrap_malloc(std::size_t size) { return note(size) ? __real_malloc(size) : nullptr; }
void* __wrap_calloc(std::size_t n, std::size_t size) {
  return note(n * size) ? __real_calloc(n, size) : nullptr;
}
void* __wrap_realloc(void* p, std::size_t size) {
  return note(size) ? __real_realloc(p, size) : nullptr;
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  return note(size) ? __real_aligned_alloc(alignment, size) : nullptr;
}
int __wrap_posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  return note(size) ? __real_posix_memalign(p, alignment, size) : ENOMEM;
}
}
// NOLINTEND

#if LONGSHORE_COUNTS
// GCC inlines one half of a pair and misses the other.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
  if (note(size))
    if (void* p = __real_malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto a = static_cast<std::size_t>(alignment);
  if (note(size))
    if (void* p = __real_aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace longshore::tests {

long allocations() { return LONGSHORE_COUNTS ? count.load() : -1; }
std::size_t allocated_bytes() { return bytes; }

NoMemory::NoMemory(long nth) { left = nth - 1; }
NoMemory::~NoMemory() { left = -1; }

long allocations_of_a_run(const Graph& g, const std::vector<Tensor>& inputs, bool fast_kernels,
                          std::optional<cpu::Isa> isa, int threads) {
  LoadOptions options;
  options.operators = operator_table();
  options.fast_kernels = fast_kernels;
  options.limit_isa = isa.has_value();
  options.isa = isa.value_or(cpu::Isa::generic);
  Result<Model> model = Model::load(lower::lower_cpu(g), options);
  EXPECT_TRUE(model.ok()) << model.status().text();
  if (!model.ok()) return 0;
  Result<Context> context = Context::create(*model, threads);
  EXPECT_TRUE(context.ok()) << context.status().text();
  if (!context.ok()) return 0;
  std::vector<TensorView> views;
  for (const Tensor& t : inputs) views.push_back(t.view());
  for (int i = 0; i < 2; i++)
    if (!context->run(views).ok()) return 0;  // an error of the example's own
  const long before = allocations();
  EXPECT_TRUE(context->run(views).ok());
  return before < 0 ? -1 : allocations() - before;
}

TEST(Allocations, AreCounted) {
  if (allocations() < 0) GTEST_SKIP() << "the address sanitizer counts its own";
  long before = allocations();
  const auto more = [&] {
    const bool any = allocations() > before;
    before = allocations();
    return any;
  };
  void* volatile seen = nullptr;  // or the compiler leaves both calls out
  seen = ::operator new(100);
  ::operator delete(seen);
  EXPECT_TRUE(more());
  seen = std::malloc(100);  // NOLINT
  std::free(seen);          // NOLINT
  EXPECT_TRUE(more());
  seen = std::aligned_alloc(64, 128);  // NOLINT
  std::free(seen);                     // NOLINT
  EXPECT_TRUE(more());
  void* p = nullptr;
  ASSERT_EQ(posix_memalign(&p, 64, 100), 0);
  std::free(p);  // NOLINT
  EXPECT_TRUE(more());
  seen = ::operator new (100, std::align_val_t{64});
  ::operator delete (seen, std::align_val_t{64});
  EXPECT_TRUE(more());
  EXPECT_FALSE(more());
}

}  // namespace longshore::tests
