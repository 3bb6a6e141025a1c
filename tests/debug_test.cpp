// The debugger's session on a pipeline by hand.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "debug/commands.hpp"
#include "npu_program.hpp"

namespace longshore::tests::debug_test {
namespace {

using debug::execute;
using debug::Session;
using ::testing::HasSubstr;

struct WritingHost final : Host {
  std::vector<std::int8_t> input;
  Status run_step(const Step& step, std::size_t, std::span<std::byte> arena) noexcept override {
    if (!step.outputs.empty()) std::memcpy(arena.data() + Pipeline::x, input.data(), input.size());
    return {};
  }
};

/// The pipeline, its input, and the tiles of y: each store's bytes, made by the table before it.
struct Case {
  Pipeline pipeline{4};
  WritingHost host;
  debug::Pieces pieces;
  Values want;

  Case() {
    host.input.resize(4 * Pipeline::tile_bytes);
    for (std::size_t i = 0; i < host.input.size(); i++)
      host.input[i] = static_cast<std::int8_t>(i * 7 % 251);
    const ProgramValue& y = pipeline.program.values[1];
    want["y"] = make_tensor<std::int8_t>(DType::i8, y.shape, pipeline.expected(host.input));
    pieces.tensors.push_back({"y", y.dtype, y.shape, y.quantisation});
    for (std::uint32_t t = 0; t < 4; t++) {
      debug::Piece piece;
      piece.store = pipeline.list(Queue::dma_out)[pipeline.find<Dma>(Queue::dma_out, t)];
      piece.store.operation.get_if<Dma>()->dram_address -= Pipeline::y;
      piece.writers = {{EngineId{3}, pipeline.find<Table>(Queue::vector, t)}};
      pieces.pieces.push_back(piece);
    }
  }
};

TEST(Debug, TheEndHasTheBytesAndTheTimeOfARun) {
  Case c;
  Session s(c.pipeline.program, c.host, c.pieces, c.want);
  // Every instruction and every step, control included, once.
  std::size_t all = c.pipeline.program.steps.size();
  for (const auto& queue : c.pipeline.program.queues) all += queue.size();
  EXPECT_EQ(s.size(), all);
  EXPECT_EQ(execute(s, "compare"), "nothing was made yet that the reference has\n");
  EXPECT_EQ(s.run(), nullptr);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(s.now_ns(), predict(c.pipeline.program)->total_ns);
  EXPECT_EQ(execute(s, "compare"), "equal: 2048 bytes of 1 tensors\n");
  EXPECT_EQ(execute(s, "semaphores"), "all semaphores are 0, and nothing waits\n");
  EXPECT_EQ(execute(s, "engines"),
            "dma_in: done\ndma_out: done\nmac: done\nvector: done\ncpu: done\n");
  EXPECT_THROW(execute(s, "step x"), Error);
}

TEST(Debug, ABreakStopsBeforeTheInstructionThatWrites) {
  Case c;
  Session s(c.pipeline.program, c.host, c.pieces, c.want);
  execute(s, "break address sram:14336+4");  // out[0]: the tables of tiles 0 and 2 write it
  for (const std::uint32_t tile : {0u, 2u}) {
    EXPECT_THAT(execute(s, "run"), HasSubstr("break 1 (address sram:14336+4)"));
    const Effect at = s.trace()[s.position()].what;
    EXPECT_EQ(at.engine, 3u);
    EXPECT_EQ(at.index, c.pipeline.find<Table>(Queue::vector, tile));
    const std::byte before = s.memory({Space::sram, 0, 14336, 14337})[0];
    EXPECT_EQ(before == NpuMemory::fresh_byte, tile == 0);
    execute(s, "step");
    const auto want =
        std::to_string(static_cast<std::uint8_t>(c.pipeline.expected(c.host.input)[tile * 512]));
    EXPECT_EQ(execute(s, "show sram:14336"), want + "\n");
    EXPECT_THAT(execute(s, "tiles"), HasSubstr("sram.0:14336-14848  y["));
    EXPECT_EQ(execute(s, "compare y"),
              "equal: " + std::to_string((tile + 1) * 512) + " bytes of 1 tensors\n");
  }
  EXPECT_EQ(execute(s, "delete 1"), "break 1 deleted\n");
  EXPECT_EQ(s.run(), nullptr);
}

TEST(Debug, ABreakOnALayerStopsBeforeItsFirstInstruction) {
  Case c;
  Session s(c.pipeline.program, c.host, c.pieces, c.want);
  execute(s, "break layer table");
  s.run();
  EXPECT_EQ(s.trace()[s.position()].what.engine, 3u);
  EXPECT_EQ(s.trace()[s.position()].what.index, c.pipeline.find<Table>(Queue::vector));
}

TEST(Debug, AChangedInstructionIsNamed) {
  Case c;
  c.pipeline.at<Table>(Queue::vector, 2).table += 1;
  Session s(c.pipeline.program, c.host, c.pieces, c.want);
  s.run();
  const std::optional<debug::Wrong> wrong = s.wrong({});
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->element / 512, 2);
  EXPECT_EQ(s.trace()[wrong->writer].what.engine, 3u);
  EXPECT_EQ(s.trace()[wrong->writer].what.index, c.pipeline.find<Table>(Queue::vector, 2));
}

TEST(Debug, WhatIsWrittenElsewhereIsTheFaultOfWhoShouldHaveWritten) {
  Case c;
  c.pipeline.at<Table>(Queue::vector, 1).out.address += 4096;
  Session s(c.pipeline.program, c.host, c.pieces, c.want);
  s.run();
  const std::optional<debug::Wrong> wrong = s.wrong({});
  ASSERT_TRUE(wrong);
  EXPECT_EQ(s.trace()[wrong->writer].what.index, c.pipeline.find<Table>(Queue::vector, 1));
}

}  // namespace
}  // namespace longshore::tests::debug_test
