#pragma once
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace longshore::stories {

/// What is built and timed.
struct Experiment {
  std::string graph;  // quantised, as text
  std::string target;
  std::vector<std::string> set = {};      // numbers of the target, as with `--set`
  std::vector<std::string> without = {};  // mechanisms of the plan, as with `--without`
  /// Units that are given, as with `--force`. "*=npu" first has all that is not named after it on
  /// the NPU; without it `program_ms` places by price.
  std::vector<std::string> force = {};
};

/// All nodes on the NPU, whatever that costs.
plan::Plan plan_of(const Experiment&);

/// Milliseconds of the NPU alone, as the simulator times it, without handing over.
double npu_ms(const plan::Plan&);
double npu_ms(const Experiment&);

/// Milliseconds of the whole program, with what the CPU does and with handing over.
double program_ms(const Experiment&);

/// The same plan in which a tile is loaded only when the one before it is done: each value that is
/// read and each result has one piece of SRAM where two took turns. Weights keep theirs.
plan::Plan without_second_buffers(plan::Plan);

}  // namespace longshore::stories
