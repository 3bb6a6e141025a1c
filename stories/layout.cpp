#include "encoder.hpp"
#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// A block of ViT-tiny, with values of it that lie in memory as their dims have them.
double block_ms(const std::string& outputs) {
  return npu_ms({.graph = text(Encoder{}, outputs), .target = "rk3588-like"});
}

std::vector<Comparison> tell() {
  const Way folded = {"all as other addresses", block_ms("")};
  Comparison copied = {.what = "Transposes of attention",
                       .slow = {"as copies", block_ms(", q_heads0, k_heads0, v_heads0, "
                                                      "context_parts0")},
                       .fast = folded},
             stored = {.what = "what stands before the Transposes as outputs",
                       .slow = {"with these outputs", block_ms(", q0, k0, v0, context0")},
                       .fast = folded};
  copied.lowest = 1.35, copied.highest = 1.65;
  stored.lowest = 0.95, stored.highest = 1.1, stored.control = true;
  return {copied, stored};
}

}  // namespace

extern constinit const Story story_layout = {
    .name = "layout",
    .claim = "Transposes that stay copies eat a third of the time of a transformer's block",
    .why =
        "A Transpose gives no new numbers: the DMA can walk the old ones in another order, and "
        "the heads of attention then cost nothing. Where a runtime keeps the layout that the "
        "model says, each is a pass over memory, byte by byte where the innermost dim is another "
        "one: that of the keys, and by our order of axes that of the values too. Here the copies "
        "are those that memory must have, since they are outputs too. That a third goes there is "
        "repeated by engineers, of no net in particular: 1.5, give or take a tenth. The block is "
        "one of ViT-tiny; the larger the products, the smaller the share: of BERT-base about a "
        "fifth. Control: outputs of as many bytes that stand before the Transposes.",
    .tell = tell,
};

}  // namespace longshore::stories
