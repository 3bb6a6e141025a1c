#include "measure/difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "ir/graph.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

template <class T>
double number(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else if constexpr (std::is_same_v<T, Bool8>)
    return bool(x) ? 1 : 0;
  else if constexpr (std::is_same_v<T, Int4> || std::is_same_v<T, UInt4> ||
                     std::is_same_v<T, Int2> || std::is_same_v<T, UInt2>)
    return static_cast<int>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

bool near(double got, double want, const Bound& bound, double largest) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <=
         bound.atol + bound.rtol * std::abs(want) + bound.of_largest * largest;
}

Shape position(std::int64_t element, const Shape& dims) {
  Shape at = dims;
  for (int i = dims.rank; i-- > 0;) {
    at[i] = element % dims[i];
    element /= dims[i];
  }
  return at;
}

}  // namespace

void Difference::add(const TensorView& got, const TensorView& want, const Bound& bound,
                     std::size_t sample) {
  elements += want.elements();
  bytes += static_cast<std::int64_t>(want.bytes());
  if (got.dtype != want.dtype || !(got.shape == want.shape)) {
    if (mismatch.empty())
      mismatch = str("got ", print(TensorType(got.dtype, got.shape)), ", want ",
                     print(TensorType(want.dtype, want.shape)));
    different += want.elements();
    different_bytes += static_cast<std::int64_t>(want.bytes());
    error_error_ = std::numeric_limits<double>::infinity();
    return;
  }
  const bool known = visit_type(AllTypes{}, want.dtype, [&]<class T>() {
    const T *g = got.as<T>(), *w = want.as<T>();
    double most = 0;
    for (std::int64_t i = 0, n = want.elements(); i < n; i++)
      if (const double x = std::abs(number(w[i])); std::isfinite(x)) most = std::max(most, x);
    largest = std::max(largest, most);
    for (std::int64_t i = 0, n = want.elements(); i < n; i++) {
      const double a = number(g[i]), b = number(w[i]);
      if (std::memcmp(g + i, w + i, sizeof(T)) != 0 && (bound.exact || !near(a, b, bound, most))) {
        if (!first) first = FirstDifference{sample, position(i, want.shape), a, b};
        different++;
        const auto* p = reinterpret_cast<const unsigned char*>(g + i);
        const auto* q = reinterpret_cast<const unsigned char*>(w + i);
        for (std::size_t k = 0; k < sizeof(T); k++) different_bytes += p[k] != q[k];
      }
      if (!std::isfinite(a) || !std::isfinite(b)) {
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;  // as it should be
        max_abs = max_rel = error_error_ = std::numeric_limits<double>::infinity();
        continue;
      }
      const double error = std::abs(a - b);
      max_abs = std::max(max_abs, error);
      if (b != 0) max_rel = std::max(max_rel, error / std::abs(b));
      want_want_ += b * b;
      got_got_ += a * a;
      got_want_ += a * b;
      error_error_ += error * error;
    }
  });
  if (!known) fail(Code::unsupported, "elements of type ", name(want.dtype), " cannot be compared");
}

double Difference::sqnr_db() const {
  if (error_error_ == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(want_want_ / error_error_);
}

double Difference::cosine() const {
  if (std::isinf(error_error_)) return 0;
  if (got_got_ == 0 || want_want_ == 0) return got_got_ == want_want_ ? 1 : 0;
  return got_want_ / std::sqrt(got_got_ * want_want_);
}

std::string print(const Shape& index) {
  std::string out;
  for (int i = 0; i < index.rank; i++) out += str(i ? "," : "", index[i]);
  return "[" + out + "]";
}

}  // namespace longshore
