#include "experiment.hpp"
#include "net.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

double yolo_ms(std::vector<std::string> force, std::vector<std::string> set) {
  std::vector<Net::Value> outputs;
  const Net net = yolov5s(640, Net::Act::silu, outputs);
  return program_ms({.graph = net.text(outputs),
                     .target = "rk3588-like",
                     .set = std::move(set),
                     .without = {"cascades"},
                     .force = std::move(force)});
}

Comparison on(const std::string& what, const std::vector<std::string>& set) {
  return {.what = what,
          .slow = {"its two Resizes on the CPU", yolo_ms({"*=npu", "Resize=cpu"}, set)},
          .fast = {"all on the NPU", yolo_ms({"*=npu"}, set)}};
}

std::vector<Comparison> tell() {
  Comparison falls = on("YOLOv5s, nearest neighbours", {}),
             free =
                 on("a CPU and handing over that cost nothing",
                    {"control.submit_us=0", "control.interrupt_us=0", "cache.coherent=true",
                     "cpu.step_us=0", "cpu.ns_per_element.Resize=0", "cpu.bandwidth_gbs=100000"});
  falls.lowest = (25.0 + 20) / 25, falls.highest = (25.0 + 150) / 25;
  free.lowest = 0.9, free.highest = 1.15, free.control = true;
  return {falls, free};
}

}  // namespace

extern constinit const Story story_resize_fallback = {
    .name = "resize-fallback",
    .claim = "A Resize that falls back adds 20 to 150 ms to a net that takes 25 ms without",
    .why =
        "What the NPU does not take ends a segment: the CPU waits for the NPU, resizes, and what "
        "it made lies in planes, which the NPU gathers byte by byte. 20 to 150 ms and 25 ms are "
        "repeated by engineers, without net or kernel; as ratios 1.8 to 7. The net is YOLOv5s of "
        "640 x 640 pixels, for which 20.7 ms are published of an RK3588 (rknn_model_zoo). "
        "Control: a CPU and handing over at no cost, which leaves the gathering.",
    .tell = tell,
    .amiss =
        "Both Resizes make 1.2 million elements. 20 ms would be 16 ns for each, where the target "
        "assumes 0.5 ns of a kernel for nearest neighbours. Slower kernels, linear or in floats, "
        "or larger images must be what the figure speaks of: what remains here is the handing "
        "over.",
    .long_one = true,
};

}  // namespace longshore::stories
