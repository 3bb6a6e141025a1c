#include "change/change.hpp"

namespace longshore::changes {
namespace {

bool rewrite(Match& m, const Obstacles&) {
  m.replace(m.node().outputs[0], m.node().inputs[0]);
  return true;
}

bool removes(const Wanted& w) { return w.kind == Wanted::Kind::last_float; }

}  // namespace

extern constinit const ChangeDef change_final_probabilities = {
    .doc = "The model ends before its last Softmax",
    .exact = false,
    .answers = "logits in their order instead of probabilities",
    .operators = {"Softmax"},
    .removes = removes,
    .rewrite = rewrite,
    .cases = {{"(x: f32[1,4]) { a = Relu(x) y = Softmax(a) return y }",
               "(x: f32[1,4]) { y = Relu(x) return y }",
               {{Wanted::Kind::last_float, "", "", ""}}},
              // An output cannot be the input itself.
              {"(x: f32[1,4]) { y = Softmax(x) return y }",
               "",
               {{Wanted::Kind::last_float, "", "", ""}}}},
};

}  // namespace longshore::changes
