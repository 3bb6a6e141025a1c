#pragma once
#include <algorithm>

#include "cpu/bind.hpp"

namespace longshore::cpu {

/// Two inputs broadcast to one output, walked in rows: dims are merged where both inputs allow it.
class Broadcast {
 public:
  static bool fits(const Shape& from, const Shape& to) {
    if (from.rank > to.rank) return false;
    for (int i = 0; i < from.rank; i++)
      if (from[i] != 1 && from[i] != to[i + to.rank - from.rank]) return false;
    return true;
  }

  Broadcast(const Shape& a, const Shape& b, const Shape& y) {
    const auto stride = [&](const Shape& from, int axis) -> std::int64_t {
      const int i = axis - (y.rank - from.rank);
      return i < 0 || from[i] == 1 ? 0 : from.product(i + 1, from.rank);
    };
    elements_ = y.elements();
    for (int axis = y.rank; axis-- > 0;) {
      if (y[axis] == 1) continue;
      const std::int64_t sa = stride(a, axis), sb = stride(b, axis);
      if (count_ > 0) {
        Axis& last = axes_[count_ - 1];
        if (sa == last.a * last.n && sb == last.b * last.n) {
          last.n *= y[axis];
          continue;
        }
      }
      axes_[count_++] = {y[axis], sa, sb};
    }
    if (count_ == 0) axes_[count_++] = {1, 0, 0};
    for (int i = 1; i < count_; i++) rows_ *= axes_[i].n;
  }

  /// Whether the inputs move along a row (else their first element holds for all of it).
  std::size_t step_a() const { return axes_[0].a != 0; }
  std::size_t step_b() const { return axes_[0].b != 0; }

  /// row(offset in a, offset in b, offset in y, elements)
  template <class F>
  void run(ThreadPool& pool, F&& row) const noexcept {
    if (elements_ == 0) return;
    const Axis& inner = axes_[0];
    constexpr std::int64_t claim = 16384;
    if (rows_ == 1) {
      pool.run((inner.n + claim - 1) / claim, [&](std::int64_t i, int) {
        const std::int64_t from = i * claim;
        row(from * inner.a, from * inner.b, from, std::min(claim, inner.n - from));
      });
      return;
    }
    const std::int64_t together = std::max<std::int64_t>(1, claim / inner.n);
    pool.run((rows_ + together - 1) / together, [&](std::int64_t i, int) {
      for (std::int64_t r = i * together, end = std::min(rows_, r + together); r < end; r++) {
        std::int64_t rest = r, at_a = 0, at_b = 0;
        for (int k = 1; k < count_; k++) {
          const std::int64_t at = rest % axes_[k].n;
          rest /= axes_[k].n;
          at_a += at * axes_[k].a;
          at_b += at * axes_[k].b;
        }
        row(at_a, at_b, r * inner.n, inner.n);
      }
    });
  }

 private:
  struct Axis {
    std::int64_t n, a, b;  // elements, strides of the inputs
  };
  Axis axes_[max_rank];  // innermost first
  int count_ = 0;
  std::int64_t rows_ = 1, elements_ = 0;
};

}  // namespace longshore::cpu
