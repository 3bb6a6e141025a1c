#include "base/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace longshore::threads_test {
namespace {

TEST(Threads, EveryChunkRunsOnce) {
  for (int threads : {1, 2, 4, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 200; round++) {
      const std::int64_t chunks = round % 50;
      std::vector<std::atomic<int>> done(50);
      std::atomic<bool> wrong_thread{false};
      pool.run(chunks, [&](std::int64_t chunk, int thread) {
        done[static_cast<std::size_t>(chunk)]++;
        if (thread < 0 || thread >= threads) wrong_thread = true;
      });
      for (std::int64_t i = 0; i < 50; i++)
        EXPECT_EQ(done[static_cast<std::size_t>(i)], i < chunks ? 1 : 0);
      EXPECT_FALSE(wrong_thread);
    }
  }
}

TEST(Threads, SeveralCallersShareOnePool) {
  ThreadPool pool(3);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; c++)
      callers.emplace_back([&] {
        for (int round = 0; round < 500; round++) {
          std::vector<std::atomic<int>> done(20);
          pool.run(20, [&](std::int64_t chunk, int) { done[static_cast<std::size_t>(chunk)]++; });
          for (const std::atomic<int>& n : done) wrong += n != 1;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(&ThreadPool::shared(), &ThreadPool::shared());
  EXPECT_EQ(ThreadPool::shared().threads(), usable_cores());
}

TEST(Threads, ThereIsAtLeastOneCore) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace longshore::threads_test
