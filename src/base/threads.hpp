#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace longshore {

/// Cores that this process may use: the affinity mask, and the cgroup's quota rounded up. At
/// least 1.
int usable_cores() noexcept;

/// Threads that help the caller with one loop at a time. Chunks are claimed by an atomic counter,
/// so a slow or late thread costs at most one chunk. Between loops the helpers spin for a few
/// microseconds and then sleep. Any thread may call: while one has the helpers, another runs its
/// loop alone.
class ThreadPool {
 public:
  /// The caller counts as one of `threads`; fewer are started where the system refuses more.
  explicit ThreadPool(int threads) noexcept;
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The pool of the process, for all who did not ask for one of their own: a thread for each
  /// usable core. Made at the first call, never ended.
  static ThreadPool& shared() noexcept;

  /// At most so many threads run a loop, the caller included.
  int threads() const noexcept { return threads_; }

  /// Calls f(chunk, thread) for each chunk in [0, chunks), with thread in [0, threads()), and
  /// returns when all are done.
  template <class F>
  void run(std::int64_t chunks, F&& f) noexcept {
    run_job(
        chunks,
        [](void* self, std::int64_t chunk, int thread) {
          (*static_cast<std::remove_reference_t<F>*>(self))(chunk, thread);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct Workers;
  using Function = void (*)(void*, std::int64_t, int);
  void run_job(std::int64_t chunks, Function, void* self) noexcept;

  int threads_ = 1;
  std::unique_ptr<Workers> workers_;
};

}  // namespace longshore
