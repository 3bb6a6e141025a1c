#include "base/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>

namespace longshore {
namespace {

void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// The first line of the file in `text`; false if it cannot be read.
bool read_line(const char* path, char* text, int size) noexcept {
  std::FILE* file = std::fopen(path, "re");
  if (!file) return false;
  const bool ok = std::fgets(text, size, file) != nullptr;
  std::fclose(file);
  return ok;
}

/// Cores that the cgroup's quota allows, or INT_MAX.
int quota_cores() noexcept {
  char line[256], path[512];
  long long quota = 0, period = 0;
  // Version 2: the process's own group, then its ancestors; the tightest counts.
  int fewest = INT_MAX;
  const auto count = [&] {
    if (quota > 0 && period > 0)
      fewest = static_cast<int>(
          std::min<long long>(fewest, std::max(1LL, (quota + period - 1) / period)));
  };
  if (std::FILE* file = std::fopen("/proc/self/cgroup", "re")) {
    while (std::fgets(line, sizeof line, file)) {
      if (std::strncmp(line, "0::", 3) != 0) continue;
      line[std::strcspn(line, "\n")] = 0;
      char* group = line + 3;
      for (;;) {
        std::snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max",
                      std::strcmp(group, "/") == 0 ? "" : group);
        char limit[64];
        if (read_line(path, limit, sizeof limit) &&
            std::sscanf(limit, "%lld %lld", &quota, &period) == 2)
          count();
        char* slash = std::strrchr(group, '/');
        if (!slash || group[0] == 0) break;
        *slash = 0;
      }
    }
    std::fclose(file);
  }
  char text[64];
  if (read_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text) &&
      std::sscanf(text, "%lld", &quota) == 1 &&
      read_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof text) &&
      std::sscanf(text, "%lld", &period) == 1)
    count();
  return fewest;
}

/// About 20 microseconds of polling before a thread sleeps.
constexpr int spins = 400;

}  // namespace

int usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  long allowed =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  allowed = std::clamp(allowed, 1L, 4096L);
  return std::min(static_cast<int>(allowed), quota_cores());
}

struct ThreadPool::Workers {
  // Generation in the upper half; below it a "closed" bit and how many helpers are inside.
  static constexpr std::uint64_t closed = std::uint64_t{1} << 31, inside = closed - 1;
  std::atomic<std::uint64_t> state{closed};
  std::atomic<std::int64_t> next{0};
  std::atomic<std::uint32_t> wake{0};  // changes with each job; helpers sleep on it
  std::atomic<bool> stop{false};
  std::atomic<bool> taken{false};  // a caller has the helpers
  std::int64_t chunks = 0;
  Function function = nullptr;
  void* self = nullptr;

  struct Helper {
    Workers* workers;
    int thread;
    pthread_t id;
  };
  std::unique_ptr<Helper[]> helpers;
  int count = 0;

  void claim(int thread) noexcept {
    for (;;) {
      const std::int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      function(self, chunk, thread);
    }
  }

  void help(int thread) noexcept {
    std::uint32_t seen = 0;
    for (;;) {
      for (int i = 0; i < spins && wake.load(std::memory_order_acquire) == seen; i++)
        pause_briefly();
      wake.wait(seen, std::memory_order_acquire);
      seen = wake.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      std::uint64_t now = state.load(std::memory_order_acquire);
      while (!(now & closed) &&
             !state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) {
      }
      if (now & closed) continue;  // came too late: the job is done
      claim(thread);
      if ((state.fetch_sub(1, std::memory_order_acq_rel) & (inside | closed)) == (closed | 1))
        state.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads) noexcept {
  threads = std::clamp(threads, 1, 256);
  if (threads == 1) return;
  // Without memory the caller works alone.
  workers_.reset(new (std::nothrow) Workers);
  if (!workers_) return;
  workers_->helpers.reset(new (std::nothrow) Workers::Helper[static_cast<std::size_t>(threads)]);
  if (!workers_->helpers) return;
  for (int t = 1; t < threads; t++) {
    Workers::Helper& helper = workers_->helpers[static_cast<std::size_t>(t - 1)];
    helper = {workers_.get(), t, {}};
    const auto body = [](void* at) -> void* {
      auto* h = static_cast<Workers::Helper*>(at);
      h->workers->help(h->thread);
      return nullptr;
    };
    if (pthread_create(&helper.id, nullptr, body, &helper) != 0) break;
    workers_->count = t;
  }
  threads_ = 1 + workers_->count;
}

ThreadPool::~ThreadPool() {
  if (!workers_) return;
  workers_->stop.store(true, std::memory_order_release);
  workers_->wake.fetch_add(1, std::memory_order_acq_rel);
  workers_->wake.notify_all();
  for (int i = 0; i < workers_->count; i++)
    pthread_join(workers_->helpers[static_cast<std::size_t>(i)].id, nullptr);
}

ThreadPool& ThreadPool::shared() noexcept {
  // Never destroyed: threads of the program may run loops until its very end.
  alignas(ThreadPool) static std::byte memory[sizeof(ThreadPool)];
  static ThreadPool* const pool = new (memory) ThreadPool(usable_cores());
  return *pool;
}

void ThreadPool::run_job(std::int64_t chunks, Function function, void* self) noexcept {
  if (threads_ == 1 || chunks <= 1 || workers_->taken.exchange(true, std::memory_order_acquire)) {
    for (std::int64_t i = 0; i < chunks; i++) function(self, i, 0);
    return;
  }
  Workers& w = *workers_;
  w.chunks = chunks;
  w.function = function;
  w.self = self;
  w.next.store(0, std::memory_order_relaxed);
  const std::uint64_t generation = (w.state.load(std::memory_order_relaxed) >> 32) + 1;
  w.state.store(generation << 32, std::memory_order_release);  // open, nobody inside
  w.wake.fetch_add(1, std::memory_order_acq_rel);
  w.wake.notify_all();
  w.claim(0);
  std::uint64_t now =
      w.state.fetch_or(Workers::closed, std::memory_order_acq_rel) | Workers::closed;
  for (int i = 0; now & Workers::inside; i++) {
    if (i < spins * 10)
      pause_briefly();
    else
      w.state.wait(now, std::memory_order_acquire);
    now = w.state.load(std::memory_order_acquire);
  }
  w.taken.store(false, std::memory_order_release);
}

}  // namespace longshore
