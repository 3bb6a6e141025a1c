#pragma once
#include <map>
#include <span>
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
  /// The members of v's group; only values that quantised nodes read or write, ascending.
  std::vector<ValueId> members(ValueId v) const;
  /// The same for all groups, by representative.
  std::map<ValueId, std::vector<ValueId>> members() const;

 private:
  std::vector<ValueId> parent_;
  std::vector<std::vector<ValueId>> members_;  // by representative, in any order
  std::vector<bool> used_;
};

/// What was observed of the members of a group together.
RangeStatistics joined_statistics(std::span<const ValueId> members,
                                  const std::map<ValueId, RangeStatistics>&);

/// Nodes that only move codes keep their scale; a node that joins several inputs (Concat) gives
/// them one scale where that costs at most one bit and saves a rescaling: the widest is at most
/// twice the narrowest, and nobody else reads them. Where one input is lost in the step of
/// another's range, the node stays float. Changes `groups` and `selection`; returns warnings.
std::vector<std::string> settle_joins(const Graph&, Selection&, Groups&,
                                      const std::map<ValueId, RangeStatistics>&);

}  // namespace longshore
