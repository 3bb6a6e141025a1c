#pragma once
#include <map>
#include <string>
#include <vector>

#include "quantize/calibration.hpp"
#include "quantize/select.hpp"

namespace longshore {

/// Values that must share scale and zero point, because moves (Quant::same) lie between them.
class Groups {
 public:
  Groups(const Graph&, const Selection&);

  /// The value that stands for v's group.
  ValueId of(ValueId v) const;
  void unite(ValueId a, ValueId b);
  /// Members, by representative; only values that quantised nodes read or write.
  std::map<ValueId, std::vector<ValueId>> members() const;
  /// What was observed of all members together.
  RangeStatistics statistics(ValueId representative,
                             const std::map<ValueId, RangeStatistics>&) const;

 private:
  std::vector<ValueId> parent_;
  std::vector<bool> used_;
};

/// Nodes that only move codes keep their scale; a node that joins several inputs (Concat) gives
/// them one scale where that costs at most one bit and saves a rescaling: the widest is at most
/// twice the narrowest, and nobody else reads them. Where one input is lost in the step of
/// another's range, the node stays float. Changes `groups` and `selection`; returns warnings.
std::vector<std::string> settle_joins(const Graph&, Selection&, Groups&,
                                      const std::map<ValueId, RangeStatistics>&);

}  // namespace longshore
