#include "measure/paired.hpp"

#include <algorithm>
#include <cmath>

namespace longshore {

PairedDifference paired_difference(std::size_t samples, std::size_t only_first,
                                   std::size_t only_second) {
  constexpr double z = 1.959963984540054;  // of the normal distribution, 2.5 % beyond on each side
  const double n = static_cast<double>(samples), b = static_cast<double>(only_first),
               c = static_cast<double>(only_second);
  // With N = n + 2, B = b + 1/2, C = c + 1/2: (C - B) / N +- z sqrt(B + C - (C - B)^2 / N) / N
  const double more = c - b, middle = more / (n + 2),
               reach = z * std::sqrt(b + c + 1 - more * more / (n + 2)) / (n + 2);
  return {100 * more / n, 100 * std::max(middle - reach, -1.0),
          100 * std::min(middle + reach, 1.0)};
}

}  // namespace longshore
