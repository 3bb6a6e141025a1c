#pragma once
#include <gtest/gtest.h>

#include "compile/compile.hpp"
#include "measure/simulated.hpp"
#include "program/print.hpp"
#include "random.hpp"
#include "sim/verify.hpp"

namespace longshore::tests {

/// Codes of the whole range, so that clamps and zero points matter.
inline std::vector<Tensor> random_codes(const Graph& g, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<Tensor> in;
  for (ValueId v : g.inputs) {
    const Shape shape = *g[v].type.shape();
    std::vector<std::int8_t> codes(static_cast<std::size_t>(shape.elements()));
    for (std::int8_t& c : codes) c = static_cast<std::int8_t>(rng());
    in.push_back(g[v].type.dtype == DType::i8 ? make_tensor<std::int8_t>(DType::i8, shape, codes)
                                              : random_tensor(rng, g[v].type.dtype, shape));
  }
  return in;
}

inline std::string refusals(const Program& p) {
  std::string out;
  for (const Refusal& r : verify(p, 4)) out += r.text + "\n";
  return out;
}

/// Places, plans and lowers; the program must pass the verifier, and each tapped value must equal
/// the reference's in every byte, in the predicted and in a random order. Returns the plan for
/// more.
inline plan::Plan expect_exact(const Graph& g, const Target& target, std::uint32_t sram_bytes,
                               unsigned seed, bool fuse = true) {
  compile::Options options;
  options.model.emplace().graph = g;
  options.first = compile::Stage::place;
  options.target = target;
  options.place.by_price = false;
  options.plan = {.sram_bytes = sram_bytes, .fuse = fuse};
  options.taps = true;
  options.verify = options.predict = false;
  const compile::Compiled compiled = compile::compile(options);
  const plan::Plan& plan = compiled.plan;
  const Program shipped = lower::lower(plan);
  EXPECT_EQ(refusals(shipped), "") << plan::print(plan);
  const lower::Tapped& tapped = *compiled.tapped;
  EXPECT_EQ(refusals(tapped.program), "") << plan::print(plan);
  const Program bare_again = lower::remove_taps(tapped);
  for (int q = 0; q < queue_count; q++)
    EXPECT_TRUE(bare_again.queues[q] == shipped.queues[q])
        << "queue " << q << " is another one without taps";
  EXPECT_EQ(print(bare_again), print(shipped));
  if (testing::Test::HasFailure()) return plan;
  std::map<std::size_t, Tensor> want;
  const std::vector<Tensor> in = random_codes(g, seed);
  const std::vector<Tensor> outputs = evaluate(
      g, in, {.observe = [&](ValueId v, const TensorView& t) { want[index(v)] = copy_tensor(t); }});
  SimulatedGraph simulated(g, tapped.program, {.poison = true});
  for (const std::uint64_t order : {0u, 17u}) {
    const std::vector<Tensor> got = simulated.run(in, order);
    for (std::size_t i = 0; i < tapped.values.size(); i++) {
      const ValueId v = tapped.values[i];
      EXPECT_TRUE(got[outputs.size() + i] == want[index(v)])
          << "value '" << g[v].name << "' differs, order " << order << "\n"
          << plan::print(plan) << summary(g);
    }
    for (std::size_t i = 0; i < outputs.size(); i++)
      EXPECT_TRUE(got[i] == outputs[i]) << "output " << i << " differs";
  }
  SimulatedGraph bare(g, shipped, {.poison = true});
  EXPECT_TRUE(bare.run(in) == outputs) << "the shipped program differs\n"
                                       << plan::print(plan) << summary(g);
  return plan;
}

}  // namespace longshore::tests
