#include <algorithm>

#include "cpu/bind.hpp"
#include "cpu/eltwise_f32.inner.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// Walks y in rows of `inner` elements; dims are merged where both inputs allow it.
class Binary final : public BoundKernel {
 public:
  Binary(BinaryF32 f, const Shape& a, const Shape& b, const Shape& y) : f_(f) {
    const auto stride = [&](const Shape& from, int axis) -> std::int64_t {
      const int i = axis - (y.rank - from.rank);
      return i < 0 || from[i] == 1 ? 0 : from.product(i + 1, from.rank);
    };
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

  void run(const KernelRun& run) const noexcept override {
    const float *a = run.inputs[0].as<float>(), *b = run.inputs[1].as<float>();
    float* y = run.outputs[0].as<float>();
    if (run.outputs[0].elements() == 0) return;
    const Axis& inner = axes_[0];
    constexpr std::int64_t claim = 16384;
    if (rows_ == 1) {
      run.pool.run((inner.n + claim - 1) / claim, [&](std::int64_t i, int) {
        const std::int64_t from = i * claim, n = std::min(claim, inner.n - from);
        row(a + from * inner.a, b + from * inner.b, y + from, n);
      });
      return;
    }
    const std::int64_t together = std::max<std::int64_t>(1, claim / inner.n);
    run.pool.run((rows_ + together - 1) / together, [&](std::int64_t i, int) {
      for (std::int64_t r = i * together, end = std::min(rows_, r + together); r < end; r++) {
        std::int64_t rest = r, at_a = 0, at_b = 0;
        for (int k = 1; k < count_; k++) {
          const std::int64_t at = rest % axes_[k].n;
          rest /= axes_[k].n;
          at_a += at * axes_[k].a;
          at_b += at * axes_[k].b;
        }
        row(a + at_a, b + at_b, y + r * inner.n, inner.n);
      }
    });
  }
  const char* name() const noexcept override { return "binary_f32"; }

 private:
  struct Axis {
    std::int64_t n, a, b;  // elements, strides of the inputs
  };
  void row(const float* a, const float* b, float* y, std::int64_t n) const noexcept {
    f_(a, axes_[0].a != 0, b, axes_[0].b != 0, y, static_cast<std::size_t>(n));
  }

  BinaryF32 f_;
  Axis axes_[max_rank];  // innermost first
  int count_ = 0;
  std::int64_t rows_ = 1;
};

bool broadcasts(const Shape& from, const Shape& to) {
  if (from.rank > to.rank) return false;
  for (int i = 0; i < from.rank; i++)
    if (from[i] != 1 && from[i] != to[i + to.rank - from.rank]) return false;
  return true;
}

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.fixed() || !r.all_f32() || r.inputs.size() != 2) return nullptr;
  const Operand &a = r.input(0), &b = r.input(1), &y = r.output();
  if (!a.present() || !b.present() || !y.present()) return nullptr;
  if (!broadcasts(a.shape, y.shape) || !broadcasts(b.shape, y.shape)) return nullptr;
  const auto& f = inner<EltwiseF32>("eltwise_f32", r.isa);
  const BinaryF32 function = r.name == "Add" ? f.add : r.name == "Sub" ? f.sub : r.name == "Mul" ? f.mul : f.div;
  return std::make_unique<Binary>(function, a.shape, b.shape, y.shape);
}

}  // namespace

extern constinit const Kernel kernel_binary_f32 = {
    .name = "binary_f32",
    .doc = "Add, Sub, Mul and Div of f32 tensors with broadcasting.",
    .operators = {"Add", "Sub", "Mul", "Div"},
    .bind = bind,
};

}  // namespace longshore::kernels
