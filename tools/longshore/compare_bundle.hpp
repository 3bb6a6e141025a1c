#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compare_report.hpp"
#include "lower/lower.hpp"
#include "measure/change.hpp"
#include "sim/inject.hpp"

namespace longshore {

/// A bundle as `compare` needs it.
struct ComparedBundle {
  std::string file;
  Graph graph;
  Program program;  // as shipped
  std::optional<lower::Tapped>
      tapped;                 // the same with stores of every layer; not for the CPU alone
  std::set<std::size_t> npu;  // nodes that run on the NPU
  /// By the first node of an NPU layer, which names it in instructions: all that run in it. A
  /// Concat can run as the last step of several.
  std::map<std::size_t, std::set<std::size_t>> layers;

  /// Names of the nodes that run in a layer.
  std::vector<std::string> nodes_of(std::size_t layer) const;
};

/// Reads it and makes the tap variant from its graph and target; throws where taking the taps away
/// does not give the shipped program back.
ComparedBundle open_compared(const std::string& path);

using SampleSource = std::function<std::vector<Tensor>(std::size_t)>;

/// The shipped program's outputs and every layer of the tap variant, on the simulator, against the
/// reference, byte by byte.
CompareReport compare_simulator(const ComparedBundle&, std::size_t samples, const SampleSource&);

/// What became of one changed operand.
struct InjectReport {
  Injection change;
  std::vector<std::string> layers;  // nodes of the layer that the instruction belongs to
  std::string verdict;  // different, stopped, dead, timing-only, refused by the verifier, unnoticed
  std::string why;
  std::vector<std::string> readers;  // nodes of layers that read bytes that differ
  CompareReport comparison;          // empty where the program was refused

  std::string instruction() const;  // "mac[12]"
  std::string operation() const;    // "conv"
};
InjectReport compare_injected(const ComparedBundle&, std::uint64_t seed, std::size_t samples,
                              const SampleSource&);

}  // namespace longshore
