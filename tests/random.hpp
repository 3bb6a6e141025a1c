#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ir/op.hpp"
#include "tensor/visit.hpp"

namespace longshore::tests {

/// Printed by gtest on failure; --gtest_random_seed=N repeats a run.
inline unsigned seed() {
  const int given = testing::UnitTest::GetInstance()->random_seed();
  return given ? static_cast<unsigned>(given) : 1;
}

/// Small numbers of any type: floats around 0, integers in -8..8 or 0..8, both booleans.
inline Tensor random_tensor(std::mt19937& rng, DType dtype, const Shape& shape) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.elements()) * size_bytes(dtype));
  std::normal_distribution<float> normal(0, 2);
  visit_type(AllTypes{}, dtype, [&]<class T>() {
    T* data = reinterpret_cast<T*>(bytes.data());
    for (std::int64_t i = 0; i < shape.elements(); i++) {
      if constexpr (std::is_same_v<T, Bool8>)
        data[i] = T((rng() & 1u) != 0);
      else if constexpr (std::is_integral_v<T>)
        data[i] = static_cast<T>(std::is_signed_v<T> ? static_cast<int>(rng() % 17) - 8
                                                     : static_cast<int>(rng() % 9));
      else if constexpr (std::is_constructible_v<T, double>)
        data[i] = static_cast<T>(normal(rng));
      else
        data[i] = T(static_cast<std::int64_t>(rng() % 4));
    }
  });
  return {dtype, shape, make_blob(std::move(bytes))};
}

/// The tensor with NaN and both infinities among its elements, if it is of floats.
inline Tensor with_extremes(std::mt19937& rng, const Tensor& t) {
  if (t.dtype != DType::f32 || t.elements() == 0) return t;
  std::vector<float> values(t.values<float>().begin(), t.values<float>().end());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float x : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity})
    if (rng() % 4 > 0) values[rng() % values.size()] = x;
  return make_floats(t.shape, values);
}

/// How two numbers differ: NaN is NaN, infinity is the same infinity, and others are `within` each
/// other. Empty: not at all.
inline std::string difference(double got, double want, double within) {
  const bool same = std::isnan(want)                      ? std::isnan(got)
                    : std::isinf(want) || std::isinf(got) ? got == want
                                                          : std::abs(got - want) <= within;
  return same ? std::string() : std::to_string(got) + " for " + std::to_string(want);
}

/// Unknown dims become 2.
inline std::vector<Tensor> random_inputs(const Graph& g, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<Tensor> in;
  for (ValueId v : g.inputs) {
    Shape shape;
    for (const Dim& d : g[v].type.dims) shape.push(d.known() ? d.value : 2);
    in.push_back(random_tensor(rng, g[v].type.dtype, shape));
  }
  return in;
}

}  // namespace longshore::tests
