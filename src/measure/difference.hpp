#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tensor/tensor.hpp"

namespace longshore {

/// The first element that is not as it should be.
struct FirstDifference {
  std::size_t sample = 0;
  Shape at;  // its index on each axis
  double got = 0, want = 0;
};

/// When two elements count as equal.
struct Bound {
  /// Byte by byte; else floats within atol + rtol * |want| + of_largest * (the largest |want| of
  /// the sample), NaN equal to NaN.
  bool exact = true;
  double rtol = 0, atol = 0, of_largest = 0;
};

/// How far a tensor is from what it should be, summed up over samples. NaN for NaN and an infinity
/// for the same one are no error; one of them for anything else is an infinite one.
class Difference {
 public:
  /// Adds one sample. Type and dims that differ make every byte of `want` different.
  void add(const TensorView& got, const TensorView& want, const Bound&, std::size_t sample);

  std::int64_t elements = 0, different = 0;     // compared; those that are not equal
  std::int64_t bytes = 0, different_bytes = 0;  // the latter: within elements that are not equal
  double max_abs = 0, max_rel = 0;  // of |got - want|, and over |want| where that is not 0
  double largest = 0;               // |want|
  std::string mismatch;             // type or dims that differ; empty: they agree
  std::optional<FirstDifference> first;

  bool equal() const { return different == 0 && mismatch.empty(); }
  /// 10 log10(sum want^2 / sum (got - want)^2): infinite where nothing differs, -infinite where a
  /// sample has other dims, or NaN or an infinity where something else belongs.
  double sqnr_db() const;
  /// Of the angle between got and want; 1 where both are zero, 0 where the error is infinite.
  double cosine() const;

 private:
  double want_want_ = 0, got_got_ = 0, got_want_ = 0, error_error_ = 0;
};

/// "[0,3,17,2]".
std::string print(const Shape& index);

}  // namespace longshore
