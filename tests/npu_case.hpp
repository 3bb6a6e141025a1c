#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
    const DType dtype = g[v].type.dtype;
    if (dtype == DType::i16) {
      std::vector<std::int16_t> wide(codes.size());
      for (std::int16_t& c : wide) c = static_cast<std::int16_t>(rng());
      in.push_back(make_tensor<std::int16_t>(dtype, shape, wide));
      continue;
    }
    in.push_back(dtype == DType::i8 || dtype == DType::u8
                     ? Tensor{dtype, shape, make_tensor<std::int8_t>(DType::i8, shape, codes).blob}
                     : random_tensor(rng, dtype, shape));
  }
  return in;
}

inline std::string refusals(const Program& p) {
  std::string out;
  for (const Refusal& r : verify(p, 4)) out += r.text + "\n";
  return out;
}

/// The value's elements lie in DRAM or SRAM because the NPU wrote them there: a stage's result, or
/// what that is a part of.
inline std::vector<bool> made_by_npu(const plan::Plan& plan) {
  std::vector<bool> made(plan.placement.graph.values.size());
  for (const plan::Layer& layer : plan.layers)
    for (const plan::Stage& stage : layer.stages)
      for (ValueId v = plan::form_node(plan, stage).result();; v = plan.aliases[index(v)].parent) {
        made[index(v)] = true;
        if (!plan.aliases[index(v)].part) break;
      }
  return made;
}

/// Why no tap can store an alias; empty where one must.
inline std::string why_without_bytes(const plan::Plan& plan, ValueId v) {
  const Graph& g = plan.placement.graph;
  bool picks = false;  // an alias below shows some elements only
  for (;;) {
    const plan::Alias& a = plan.aliases[index(v)];
    if (a.parent == no_value || a.part) break;
    const bool other_dims = a.full && !forms::same_walk(g[v], g[a.parent]);
    if (other_dims && picks) return "it picks elements of '" + g[v].name + "', under other dims";
    picks |= !a.full;
    v = a.parent;
  }
  return made_by_npu(plan)[index(v)] ? "" : "the NPU did not make '" + g[v].name + "'";
}

/// Every value of an NPU node is compared, or cannot be.
inline void expect_all_tapped(const plan::Plan& plan, const lower::Tapped& tapped) {
  const Graph& g = plan.placement.graph;
  const std::vector<bool> made = made_by_npu(plan);
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    if (!plan.placement.nodes[i].on_npu()) continue;
    for (ValueId v : g.nodes[i].outputs) {
      if (v == no_value) continue;
      const auto in = [v](const std::vector<ValueId>& list) { return std::ranges::count(list, v); };
      const plan::Alias& a = plan.aliases[index(v)];
      const bool alias = a.parent != no_value && !a.part;
      if (!alias && !made[index(v)]) continue;  // a join of what the CPU wrote in its place
      const std::string why = made[index(v)] ? "" : why_without_bytes(plan, v);
      EXPECT_EQ(in(tapped.values), why.empty() ? 1 : 0) << g[v].name << " " << why;
      EXPECT_EQ(in(tapped.without_bytes), why.empty() ? 0 : 1) << g[v].name << " " << why;
    }
  }
}

/// Bytes of the arena, from and to.
using Span64 = std::pair<std::uint64_t, std::uint64_t>;

/// The whole cache lines of values of the program that lie in the arena, in order and joined.
inline std::vector<Span64> lines_of(const Program& p, const std::vector<std::uint32_t>& values) {
  const std::uint64_t line = p.machine.cache_line_bytes;
  std::set<std::uint64_t> lines;
  for (std::uint32_t i : values) {
    if (i == no_index || p.values[i].storage != Storage::arena) continue;
    const ProgramValue& v = p.values[i];
    const auto bytes = static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype);
    for (std::uint64_t at = v.offset / line; at * line < v.offset + bytes; at++) lines.insert(at);
  }
  std::vector<Span64> out;
  for (std::uint64_t at : lines) {
    if (out.empty() || out.back().second != at * line) out.emplace_back(at * line, at * line);
    out.back().second += line;
  }
  return out;
}

/// No clean reaches beyond the lines that CPU steps write, no invalidate beyond those that they
/// touch or hand over.
inline void expect_cache_steps_inside(const Program& p) {
  std::vector<std::uint32_t> written, seen = p.outputs;
  for (const Step& s : p.steps) {
    if (!computes(s)) continue;
    written.insert(written.end(), s.outputs.begin(), s.outputs.end());
    seen.insert(seen.end(), s.inputs.begin(), s.inputs.end());
    for (const NestedProgram& n : s.nested)
      seen.insert(seen.end(), n.captures.begin(), n.captures.end());
  }
  seen.insert(seen.end(), written.begin(), written.end());
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::clean && s.kind != Step::Kind::invalidate) continue;
    const bool clean = s.kind == Step::Kind::clean;
    const std::vector<Span64> lines = lines_of(p, clean ? written : seen);
    EXPECT_TRUE(std::ranges::any_of(
        lines, [&](Span64 l) { return l.first <= s.offset && s.offset + s.bytes <= l.second; }))
        << (clean ? "clean " : "invalidate ") << s.offset << " + " << s.bytes << "\n"
        << print(p);
  }
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
  expect_cache_steps_inside(shipped);
  const lower::Tapped& tapped = *compiled.tapped;
  expect_all_tapped(plan, tapped);
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
