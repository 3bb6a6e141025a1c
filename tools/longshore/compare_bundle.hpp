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
#include "measure/simulated.hpp"
#include "target/target.hpp"

namespace longshore {

/// A bundle as `compare` needs it.
struct ComparedBundle {
  std::string file;
  Graph graph;
  Program program;               // as shipped
  std::optional<Target> target;  // absent: for the CPU alone
  std::string choices;           // of compile/choices.hpp
  std::optional<lower::Tapped>
      tapped;                 // the same with stores of every layer; not for the CPU alone
  std::set<std::size_t> npu;  // nodes that run on the NPU
  /// Values of NPU nodes without bytes of their own and without a tap (lower::Tapped).
  std::set<std::string, std::less<>> without_bytes;
  /// By the first node of an NPU layer, which names it in instructions: all that run in it. A
  /// Concat can run as the last step of several.
  std::map<std::size_t, std::set<std::size_t>> layers;

  /// Names of the nodes that run in a layer.
  std::vector<std::string> nodes_of(std::size_t layer) const;
};

/// Reads it and makes the tap variant from its graph, target and choices; throws where taking the
/// taps away does not give the shipped program back.
ComparedBundle open_compared(const std::string& path);

/// The same for a graph that is compiled anew, with these choices.
ComparedBundle compile_compared(const std::string& file, Graph, const Target&,
                                std::string_view choices);

using SampleSource = std::function<std::vector<Tensor>(std::size_t)>;

/// Holds a shipped program and a tap variant, perhaps changed ones, against the reference.
class BundleComparison {
 public:
  /// All must outlive it; throws where a program fails its check.
  BundleComparison(const ComparedBundle&, const Program& shipped, const Program& tapped);
  void add(std::span<const Tensor> inputs);
  CompareReport report() const;

 private:
  const ComparedBundle& bundle_;
  SimulatedGraph shipped_, tapped_;
  Comparison layers_;
  std::vector<LayerDifference> outputs_;
};

/// The shipped program's outputs and every layer of the tap variant, on the simulator, against the
/// reference, byte by byte.
CompareReport compare_simulator(const ComparedBundle&, std::size_t samples, const SampleSource&);

}  // namespace longshore
