#include "base/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace longshore {
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

TEST(Threads, ThereIsAtLeastOneCore) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace longshore
