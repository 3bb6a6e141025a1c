#include <limits>
#include <vector>

#include "cpu/depthwise_f32.inner.hpp"
#include "cpu/bind.hpp"
#include "cpu/rows.inner.hpp"
#include "cpu/support/phases.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

constexpr std::int64_t most_taps = 256;

/// Both pools go plane by plane: a padded copy, then each output row from the rows of its taps.
template <class T>
class Pool : public BoundKernel {
 public:
  Pool(const Window& w, std::int64_t planes, T padding)
      : w_(w), phases_(w), planes_(planes), padding_(padding) {}

  std::size_t scratch_bytes(int threads) const noexcept override {
    return static_cast<std::size_t>(threads) * thread_bytes();
  }
  void run(const KernelRun& run) const noexcept override {
    const T* x = run.inputs[0].as<T>();
    T* y = run.outputs[0].as<T>();
    run.pool.run(planes_, [&](std::int64_t plane, int thread) {
      T* copy = reinterpret_cast<T*>(run.scratch.data() +
                                     static_cast<std::size_t>(thread) * thread_bytes());
      phases_.fill(x + plane * w_.in_plane(), copy, padding_, Phases::Same{});
      const T* from[most_taps];
      for (std::int64_t i = 0; i < w_.out[1]; i++) {
        for (std::int64_t t = 0; t < w_.taps(); t++)
          from[t] = copy + phases_.at(i, t / w_.kernel[2], t % w_.kernel[2]);
        row(i, from, y + plane * w_.out_plane() + i * w_.out[2]);
      }
    });
  }

 protected:
  virtual void row(std::int64_t i, const T* const* from, T* y) const noexcept = 0;
  Window w_;

 private:
  std::size_t thread_bytes() const {
    return (static_cast<std::size_t>(phases_.elements() + 64) * sizeof(T) + 63) / 64 * 64;
  }
  Phases phases_;
  std::int64_t planes_;
  T padding_;
};

template <class T>
class MaxPool final : public Pool<T> {
 public:
  MaxPool(const Window& w, std::int64_t planes, T lowest, const Rows& f)
      : Pool<T>(w, planes, lowest), f_(f) {}
  const char* name() const noexcept override { return "pool"; }

 protected:
  void row(std::int64_t, const T* const* from, T* y) const noexcept override {
    const auto taps = static_cast<std::size_t>(this->w_.taps()),
               n = static_cast<std::size_t>(this->w_.out[2]);
    if constexpr (std::is_same_v<T, float>)
      f_.max_f32(from, taps, y, n);
    else if constexpr (std::is_same_v<T, std::int8_t>)
      f_.max_i8(from, taps, y, n);
    else
      f_.max_u8(from, taps, y, n);
  }

 private:
  const Rows& f_;
};

class AveragePool final : public Pool<float> {
 public:
  AveragePool(const Window& w, std::int64_t planes, bool count_padding, const DepthwiseF32& f)
      : Pool<float>(w, planes, 0.0f), f_(f), ones_(static_cast<std::size_t>(w.taps()), 1.0f) {
    const auto counts = [&](int axis, std::vector<float>& out) {
      for (std::int64_t o = 0; o < w.out[axis]; o++) {
        const std::int64_t before = count_padding ? w.begin[axis] : 0,
                           after = count_padding ? w.end[axis] : 0;
        const IndexRange inside = taps_of_output(w, axis, o, -before, w.in[axis] + after);
        out.push_back(static_cast<float>(inside.to - inside.from));
      }
    };
    counts(1, row_counts_);
    counts(2, column_counts_);
  }
  const char* name() const noexcept override { return "pool"; }

 protected:
  void row(std::int64_t i, const float* const* from, float* y) const noexcept override {
    const auto n = static_cast<std::size_t>(w_.out[2]);
    f_.row({from, ones_.data(), ones_.size(), 0.0f, y, n, false, 0.0f, 0.0f});
    for (std::size_t k = 0; k < n; k++) {
      const float count = row_counts_[static_cast<std::size_t>(i)] * column_counts_[k];
      y[k] = count > 0 ? y[k] / count : 0;
    }
  }

 private:
  const DepthwiseF32& f_;
  std::vector<float> ones_, row_counts_, column_counts_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || !x.present() || !y.present() || x.dtype != y.dtype || r.output(1).present())
    return nullptr;
  const std::span<const std::int64_t> kernel = r.attributes.integers("kernel_shape");
  Window w;
  if (!make_window(r.attributes, x.shape, kernel, w).ok() || !planar(w) || w.taps() > most_taps ||
      x.shape.elements() == 0 || y.shape.elements() == 0 ||
      !(y.shape == window_shape(x.shape, x.shape[1], w)))
    return nullptr;
  // A window entirely in the padding has answers of its own.
  for (int axis : {1, 2})
    for (std::int64_t o = 0; o < w.out[axis]; o++)
      if (const IndexRange taps = taps_of_output(w, axis, o, 0, w.in[axis]); taps.from >= taps.to)
        return nullptr;
  const std::int64_t planes = x.shape[0] * x.shape[1];
  if (r.name == "AveragePool") {
    if (!r.all_f32()) return nullptr;
    return std::make_unique<AveragePool>(w, planes, r.attributes.integer("count_include_pad") != 0,
                                         inner<DepthwiseF32>("depthwise_f32", r.isa));
  }
  if (x.quantised() != y.quantised()) return nullptr;
  if (x.quantised() &&
      (x.quant.count != 1 || y.quant.count != 1 || x.quant.scale[0] != y.quant.scale[0] ||
       x.quant.zero_point[0] != y.quant.zero_point[0]))
    return nullptr;
  const auto& f = inner<Rows>("rows", r.isa);
  if (x.dtype == DType::f32)
    return std::make_unique<MaxPool<float>>(w, planes, -std::numeric_limits<float>::infinity(), f);
  if (x.dtype == DType::i8)
    return std::make_unique<MaxPool<std::int8_t>>(w, planes, std::int8_t{-128}, f);
  if (x.dtype == DType::u8)
    return std::make_unique<MaxPool<std::uint8_t>>(w, planes, std::uint8_t{0}, f);
  return nullptr;
}

}  // namespace

extern constinit const Kernel kernel_pool = {
    .name = "pool",
    .doc = "MaxPool of f32 and 8-bit codes, AveragePool of f32, over one or two spatial dims.",
    .operators = {"MaxPool", "AveragePool"},
    .bind = bind,
    .example = "(x: f32[1,3,9,40]) { y = MaxPool(x, kernel_shape=[3,2]) return y }",
};

}  // namespace longshore::kernels
