#include <gtest/gtest.h>

#include <algorithm>

#include "measure/live_arena.hpp"
#include "measure/svg_timeline.hpp"
#include "npu_program.hpp"

namespace longshore::tests::timeline_test {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
  return n;
}

TEST(LiveArena, FollowsThePipelineByHand) {
  const Pipeline pipe(4);
  const Timing timing = *predict(pipe.program);
  const std::vector<LiveBytes> live = live_arena(pipe.program, timing);
  ASSERT_FALSE(live.empty());
  EXPECT_EQ(live.front().ns, 0) << "x is written by the CPU's first step";
  EXPECT_EQ(live.front().bytes, 4 * 512u);
  EXPECT_EQ(live.back().bytes, 0u);
  EXPECT_NEAR(live.back().ns, timing.total_ns, 1e-6) << "y is read by the CPU's last";
  // When the last tile is stored, x is all read and y all written.
  double stored = 0;
  for (const Interval& i : timing.intervals)
    if (i.engine % queue_count == static_cast<EngineId>(Queue::dma_out) &&
        i.engine != cpu_engine(pipe.program.machine))
      stored = std::max(stored, i.end_ns);
  std::uint64_t bytes = 0;
  for (const LiveBytes& l : live)
    if (l.ns <= stored) bytes = l.bytes;
  EXPECT_EQ(bytes, 4 * 512u);
  for (std::size_t i = 1; i < live.size(); i++) EXPECT_LT(live[i - 1].ns, live[i].ns);
  for (const LiveBytes& l : live) EXPECT_LE(l.bytes, 2 * 4 * 512u);
}

TEST(LiveArena, HoldsNothingThatNobodyReads) {
  Pipeline pipe(2);
  for (Step& s : pipe.program.steps)
    if (s.name == "read") s.inputs.clear();
  const Timing timing = *predict(pipe.program);
  for (const LiveBytes& l : live_arena(pipe.program, timing)) EXPECT_LE(l.bytes, 2 * 512u);
  pipe.program.outputs = {1};
  EXPECT_EQ(live_arena(pipe.program, timing).back().ns, timing.total_ns) << "the caller reads it";
}

TEST(SvgTimeline, HasABarPerIntervalWhereAllAreWide) {
  const Pipeline pipe(3);
  const Timing timing = *predict(pipe.program);
  const std::string svg = svg_timeline(pipe.program, timing, "a net", {.narrowest_px = 0});
  EXPECT_EQ(count(svg, "<title>"), timing.intervals.size());
  EXPECT_EQ(count(svg, "<title>"), count(svg, "</title></rect>"));
  for (const char* row : {">dma_in<", ">dma_out<", ">mac<", ">vector<", ">cpu<", ">a net<"})
    EXPECT_EQ(count(svg, row), 1u) << row;
  EXPECT_NE(svg.find("<title>conv: conv\n"), std::string::npos);
  EXPECT_NE(svg.find("<title>table: table\n"), std::string::npos);
}

TEST(SvgTimeline, JoinsNarrowBars) {
  const Pipeline pipe(16);
  const Timing timing = *predict(pipe.program);
  const std::string all = svg_timeline(pipe.program, timing, "", {.narrowest_px = 0}),
                    joined = svg_timeline(pipe.program, timing, "", {.narrowest_px = 100});
  EXPECT_LT(count(joined, "<title>"), count(all, "<title>") / 4);
  EXPECT_NE(joined.find(" bars, "), std::string::npos);
  EXPECT_EQ(all.find(" bars, "), std::string::npos);
  EXPECT_EQ(count(joined, ">mac<"), 1u) << "no row is lost";
}

TEST(SvgTimeline, JoinsBarsUntilTheFileIsSmall) {
  const Pipeline pipe(16);
  const Timing timing = *predict(pipe.program);
  const std::string all = svg_timeline(pipe.program, timing, "", {.narrowest_px = 0});
  // What is no bar (the axis, the memory, the legend) stays.
  const std::size_t limit = all.size() - 2000;
  const std::string small =
      svg_timeline(pipe.program, timing, "", {.narrowest_px = 0, .most_bytes = limit});
  EXPECT_LE(small.size(), limit);
  EXPECT_NE(small.find(" bars, "), std::string::npos);
}

TEST(SvgTimeline, IsXmlWhateverTheNamesAre) {
  Pipeline pipe(2);
  pipe.program.layers = {"a<b>&\"'\x01\xff\xc0\x80", "\xe7\x95\x8c\xed\xa0\x80\xef\xbf\xbe"};
  const Timing timing = *predict(pipe.program);
  const std::string svg = svg_timeline(pipe.program, timing, "x & y", {.narrowest_px = 0});
  EXPECT_NE(svg.find("<title>a&lt;b&gt;&amp;\"'????: conv"), std::string::npos);
  EXPECT_NE(svg.find("<title>\xe7\x95\x8c??????: table"), std::string::npos);
  EXPECT_NE(svg.find(">x &amp; y<"), std::string::npos);
}

}  // namespace
}  // namespace longshore::tests::timeline_test
