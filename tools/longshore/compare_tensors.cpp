#include "compare_tensors.hpp"

#include <cmath>

#include "base/error.hpp"
#include "ir/graph.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

bool near(double got, double want, const Tolerance& t) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= t.atol + t.rtol * std::abs(want);
}

std::string position(std::int64_t at, const Shape& shape) {
  std::string out;
  for (int i = 0; i < shape.rank; i++)
    out += str(i ? "," : "", at / shape.product(i + 1, shape.rank) % shape[i]);
  return "[" + out + "]";
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.dtype != want.dtype || !(got.shape == want.shape))
    return str("got ", print(TensorType(got.dtype, got.shape)), ", want ",
               print(TensorType(want.dtype, want.shape)));
  std::int64_t wrong = 0, first = 0;
  std::string values;
  const bool known = visit_type(AllTypes{}, got.dtype, [&]<class T>() {
    const auto a = got.values<T>(), b = want.values<T>();
    constexpr bool exact = std::is_integral_v<T> || std::is_same_v<T, Bool8> ||
                           std::is_same_v<T, Int4> || std::is_same_v<T, UInt4> ||
                           std::is_same_v<T, Int2> || std::is_same_v<T, UInt2>;
    for (std::size_t i = 0; i < a.size(); i++) {
      bool same = false;
      if constexpr (std::is_same_v<T, Bool8>)
        same = bool(a[i]) == bool(b[i]);
      else if constexpr (std::is_integral_v<T>)
        same = a[i] == b[i];
      else if constexpr (exact)
        same = int(a[i]) == int(b[i]);
      else
        same = near(static_cast<double>(a[i]), static_cast<double>(b[i]), tolerance);
      if (same || wrong++ > 0) continue;
      first = static_cast<std::int64_t>(i);
      if constexpr (exact && !std::is_integral_v<T>)
        values = str("got ", int(a[i]), ", want ", int(b[i]));
      else
        values = str("got ", +a[i], ", want ", +b[i]);
    }
  });
  if (!known) return "its element type cannot be compared";
  if (wrong == 0) return {};
  return str(wrong, " of ", got.elements(), " elements differ, the first at ",
             position(first, got.shape), ": ", values);
}

}  // namespace longshore
