#pragma once
#include <string>
#include <vector>

#include "compare_bundle.hpp"
#include "sim/inject.hpp"

namespace longshore {

/// What became of one changed operand.
struct InjectReport {
  Injection change;
  std::vector<std::string> layers;  // nodes of the layer that the instruction belongs to
  /// different, stopped, dead, timing-only, refused by the verifier, not shown, unnoticed
  std::string verdict;
  std::string why;
  std::vector<std::string> readers;  // nodes of layers that read bytes that differ
  CompareReport comparison;          // empty where the program was refused
  bool other_weights = false;        // it shows in the same net with other weights

  std::string instruction() const;  // "mac[12]"
  std::string operation() const;    // "conv"
};

/// Changes one operand of one instruction and looks for what shows it: the verifier, the samples,
/// more samples, and the same net with other weights.
InjectReport compare_injected(const ComparedBundle&, std::uint64_t seed, std::size_t samples,
                              const SampleSource&);

}  // namespace longshore
