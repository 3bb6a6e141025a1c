#pragma once
#include <functional>
#include <optional>
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
  std::vector<std::size_t>
      head;  // by node: the first node of the layer that it is fused into, or itself

  /// Names of the nodes that run as one layer with this one.
  std::vector<std::string> fused_with(std::size_t node) const;
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
