#include "encoder.hpp"
#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

double blocks_ms(const std::vector<std::string>& force, std::vector<std::string> set) {
  return program_ms({.graph = text({.blocks = 4}),
                     .target = "rk3588-like",
                     .set = std::move(set),
                     .force = force});
}

Comparison on(const std::string& what, const std::vector<std::string>& set) {
  return {.what = what,
          .slow = {"Reshape and Transpose on the CPU",
                   blocks_ms({"*=npu", "Reshape=cpu", "Transpose=cpu"}, set)},
          .fast = {"views: other addresses", blocks_ms({"*=npu"}, set)}};
}

std::vector<Comparison> tell() {
  Comparison broken = on("four blocks of ViT-tiny", {}),
             free = on(
                 "a CPU and handing over that cost nothing",
                 {"control.submit_us=0", "control.interrupt_us=0", "cache.coherent=true",
                  "cpu.step_us=0", "cpu.ns_per_element.Transpose=0", "cpu.bandwidth_gbs=100000"});
  broken.lowest = 1.7, broken.highest = 2.3;
  free.lowest = 0.9, free.highest = 1.15, free.control = true;
  return {broken, free};
}

}  // namespace

extern constinit const Story story_views = {
    .name = "views",
    .claim = "Reshapes and Transposes that break a segment double the time against views",
    .why =
        "The NPU walks a view of what is in memory already. A runtime whose NPU cannot ends a "
        "segment before each Reshape and Transpose of attention and begins one behind it: a job "
        "is submitted, an interrupt taken, caches are cleaned, and the CPU copies. All other "
        "nodes stay on the NPU, as a delegate leaves them; placement by price would take "
        "neighbours along. Twice the time is repeated by engineers, here give or take 15 %. "
        "Control: a CPU and handing over at no cost, which leaves what the NPU reads and writes "
        "more.",
    .tell = tell,
};

}  // namespace longshore::stories
