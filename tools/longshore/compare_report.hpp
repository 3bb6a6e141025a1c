#pragma once
#include <algorithm>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "json.hpp"
#include "measure/compare.hpp"

namespace longshore {

/// A comparison that is over, and how to show it.
struct CompareReport {
  std::string file, got, want;  // "the simulator", "the quantised reference"
  std::size_t samples = 0;
  std::string_view sample_kind;  // data, input, calibration or random
  std::vector<LayerDifference> layers;
  std::set<std::size_t> npu;  // positions of nodes that ran on the NPU
  std::vector<NotCompared> missing;
  bool exact = true;  // false: precisions are compared, and differences are no fault
  bool differs() const { return total(layers).different_layers > 0; }
  /// Nothing differs, and nothing was left out. What compared nothing has shown nothing.
  bool ok() const {
    return !layers.empty() && (!exact || !differs()) &&
           std::ranges::all_of(missing, [](const NotCompared& m) { return !m.reason.empty(); });
  }
};

/// Bytes and the first difference, then the worst layers first: all of them, or the worst `rows`.
void show(std::ostream&, const CompareReport&, std::size_t rows);

/// layers, npu_layers, bytes_compared, different_bytes, first_difference, ...; `by_layer` on
/// request.
Json to_json(const CompareReport&, bool by_layer);

}  // namespace longshore
