#pragma once
#include <cstddef>

namespace longshore {

/// How much more often the second of two models is right than the first, on the same samples, in
/// points (per cent of the samples), with a 95 % interval.
struct PairedDifference {
  double points = 0, low = 0, high = 0;
};

/// From McNemar's table: of `samples`, those that only the first and only the second had right. The
/// interval is Agresti and Min's (Statistics in Medicine 24, 2005, 729-740): Wald's for paired
/// proportions, with half a sample added to each of the four cells, so that it has a width where
/// the models never differ, too. At least one sample.
PairedDifference paired_difference(std::size_t samples, std::size_t only_first,
                                   std::size_t only_second);

}  // namespace longshore
