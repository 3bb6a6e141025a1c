// Loads that cores of one round share.
#include "lower/share_loads.hpp"

#include <gtest/gtest.h>

#include "program/access.hpp"
#include "program/instructions/dma.hpp"
#include "program/machine.hpp"
#include "program/region.hpp"

namespace longshore::tests::share_loads_test {
namespace {

using lower::RoundItem;
using lower::share_loads;

RoundItem load(std::uint8_t core, std::uint64_t from, std::uint32_t to) {
  Dma d;
  d.dram_address = from, d.sram_address = to, d.run_bytes = 64;
  return {{Queue::dma_in, core, 0, d}, false};
}
RoundItem store(std::uint8_t core, std::uint32_t from, std::uint64_t to) {
  Dma d;
  d.dram_address = to, d.sram_address = from, d.run_bytes = 64;
  return {{Queue::dma_out, core, 0, d}, false};
}
const Dma& dma(const RoundItem& item) { return *item.instruction.operation.get_if<Dma>(); }

TEST(SharedLoads, EqualOnesOfSeveralCoresBecomeOne) {
  std::vector<RoundItem> round = {load(0, 0, 0),      load(0, 640, 128), load(1, 0, 0),
                                  load(1, 1280, 128), load(2, 0, 0),     load(2, 0, 64)};
  std::uint32_t shared = 0;
  share_loads(round, shared);
  ASSERT_EQ(round.size(), 4u);
  EXPECT_EQ(dma(round[0]).cores, 0b111u);
  EXPECT_EQ(round[0].instruction.core, 0);
  for (std::size_t i = 1; i < round.size(); i++) EXPECT_EQ(dma(round[i]).cores, 0u);
  EXPECT_EQ(regions_of(round[0].instruction).count, 4);  // one read, a write for each core
}

TEST(SharedLoads, CoresTakeTurns) {
  std::vector<RoundItem> round = {load(0, 0, 0), load(0, 64, 64), load(1, 0, 0), load(1, 64, 64)};
  std::uint32_t shared = 0;
  share_loads(round, shared);
  ASSERT_EQ(round.size(), 2u);
  EXPECT_EQ(round[0].instruction.core, 0);
  EXPECT_EQ(round[1].instruction.core, 1);
}

TEST(SharedLoads, NothingPassesWhatItDependsOn) {
  std::uint32_t shared = 0;
  // Core 0 stores what core 1 loads.
  std::vector<RoundItem> written = {load(0, 0, 0), store(0, 0, 32), load(1, 0, 0)};
  share_loads(written, shared);
  EXPECT_EQ(written.size(), 3u);
  // Core 1 still stores what lies where its load goes.
  std::vector<RoundItem> read = {load(0, 0, 0), store(1, 32, 640), load(1, 0, 0)};
  share_loads(read, shared);
  EXPECT_EQ(read.size(), 3u);
  // The same bytes of another core are another matter.
  std::vector<RoundItem> apart = {load(0, 0, 0), store(2, 32, 640), load(1, 0, 0)};
  share_loads(apart, shared);
  EXPECT_EQ(apart.size(), 2u);
}

TEST(SharedLoads, AreRefusedWhereTheMachineHasNone) {
  Machine m;
  m.present = true, m.cores = 2;
  Instruction i = load(0, 0, 0).instruction;
  i.operation.get_if<Dma>()->cores = 0b11;
  const MemorySizes sizes{4096, 0};
  EXPECT_FALSE(check(m, sizes, i).ok());
  m.dma_shared_loads = true;
  EXPECT_TRUE(check(m, sizes, i).ok()) << check(m, sizes, i).text();
  i.operation.get_if<Dma>()->cores = 0b100;  // there is no third
  EXPECT_FALSE(check(m, sizes, i).ok());
  i.operation.get_if<Dma>()->cores = 0b11;
  i.queue = Queue::dma_out;
  EXPECT_FALSE(check(m, sizes, i).ok());
}

}  // namespace
}  // namespace longshore::tests::share_loads_test
