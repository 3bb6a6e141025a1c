#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// 21 scores for each of 512 x 512 pixels, which lie side by side in memory, and what follows.
std::string net(const std::string& tail) {
  return R"((x: i8[1,512,512,3] q(0.1, 0)) {
  image: i8[1,3,512,512] q(0.1, 0) = Transpose(x, perm=[0,3,1,2])
  planes: i8[1,21,512,512] q(0.1, 0) = Conv(image, i8[21,3,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
  scores: i8[1,512,512,21] q(0.1, 0) = Transpose(planes, perm=[0,2,3,1])
)" + tail +
         " }";
}

// The greatest of 21, seven and then three at a time, since windows have 8 columns at most.
constexpr const char *over_classes = R"(
  a: i8[1,512,512,3] q(0.1, 0) = MaxPool(scores, kernel_shape=[1,7], strides=[1,7])
  y: i8[1,512,512,1] q(0.1, 0) = MaxPool(a, kernel_shape=[1,3], strides=[1,3]) return y)",
                     *shares = R"(
  y: i8[1,512,512,21] q(0.00390625, -128) = Softmax(scores) return y)";

Comparison on(const std::string& what, const char* tail, const std::string& operators) {
  const std::string target = "rk3588-like";
  const double before = npu_ms({.graph = net("return scores"), .target = target});
  const auto beyond = [&](std::vector<std::string> force) {
    return program_ms({.graph = net(tail), .target = target, .force = std::move(force)}) - before;
  };
  return {.what = what,
          .slow = {"on the NPU", beyond({"*=npu"})},
          .fast = {"on the CPU", beyond({"*=npu", operators + "=cpu"})}};
}

std::vector<Comparison> tell() {
  Comparison classes = on("the greatest of 21 scores, 512 x 512 pixels", over_classes, "MaxPool"),
             rows = on("Softmax of the same scores", shares, "Softmax");
  classes.lowest = 2.4, classes.highest = 3.6;
  rows.lowest = 0.5, rows.highest = 1.1, rows.control = true;
  return {classes, rows};
}

}  // namespace

extern constinit const Story story_argmax_tail = {
    .name = "argmax-tail",
    .claim = "A tail of ArgMax takes 12 ms on the NPU, 4 ms on the CPU",
    .why =
        "The greatest score of a pixel is wanted. Its scores lie side by side, as channels do, "
        "and a window over them wants each apart: the DMA gathers bytes one by one, where the "
        "CPU reads on. 12 and 4 ms are repeated by engineers, without sizes; three times, give "
        "or take a fifth. No form does ArgMax or the suppression of boxes, so that MaxPools over "
        "21 classes stand for it, 512 x 512 pixels as of DeepLabV3. The time is what the program "
        "takes beyond the convolution before, handing over included. Control: Softmax, which "
        "walks scores as they lie.",
    .tell = tell,
    .amiss =
        "The CPU's 4 ms are there, and it is the faster; but the NPU gathers 5.5 million bytes at "
        "one "
        "for each cycle and takes half of the 12 ms. Placement does not choose the CPU by itself: "
        "its price of the NPU is a roofline that leaves such gathering out.",
    .long_one = true,
};

}  // namespace longshore::stories
