#include <bit>
#include <cstring>

#include "cpu/support/gemm_f32.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// Several products of one size; the matrices of A, B and Y lie at multiples of strides that may
/// be 0 for an input that is used again.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
  std::int64_t batches = 1;
  std::vector<std::int64_t> a_at, b_at;  // elements, of each batch
  BoundActivation activation;
  enum class Start { none, column, row, matrix } start = Start::none;
  std::vector<float> scaled_start;  // beta times a constant C
};

class Gemm final : public BoundKernel {
 public:
  Gemm(Product product, const GemmF32& gemm) : p_(std::move(product)), gemm_(gemm) {}

  void pack(const BindRequest& r) {
    const auto* b = static_cast<const float*>(r.input(1).constant);
    std::int64_t last = 0;
    for (std::int64_t at : p_.b_at) last = std::max(last, at);
    matrices_ = p_.k * p_.n > 0 ? last / (p_.k * p_.n) + 1 : 1;
    packed_ = r.pack(1,
                     {"gemm_f32",
                      {static_cast<std::int64_t>(gemm_.columns), p_.k, p_.n, p_.transpose_b ? 1 : 0,
                       matrices_, std::bit_cast<std::int32_t>(p_.alpha)}},
                     static_cast<std::size_t>(matrices_ * packed_size()) * sizeof(float),
                     [&](std::byte* to) {
                       for (std::int64_t i = 0; i < matrices_; i++)
                         pack_b(gemm_, matrix_b(b + i * p_.k * p_.n), p_.k, p_.n, p_.alpha,
                                reinterpret_cast<float*>(to) + i * packed_size());
                     });
  }

  std::size_t scratch_bytes(int threads) const noexcept override {
    std::size_t floats = gemm_scratch_bytes(threads) / sizeof(float);
    if (!packed_)
      floats += static_cast<std::size_t>(threads) * static_cast<std::size_t>(packed_size());
    return floats * sizeof(float) + 64;
  }

  void run(const KernelRun& run) const noexcept override {
    const int threads = run.pool.threads();
    auto* scratch = reinterpret_cast<float*>(run.scratch.data());
    float* own_b = scratch + gemm_scratch_bytes(threads) / sizeof(float);
    if (p_.batches == 1 || p_.batches < threads) {
      for (std::int64_t i = 0; i < p_.batches; i++)
        gemm(gemm_, problem(run, i, own_b), run.pool,
             run.scratch.first(gemm_scratch_bytes(threads)));
      return;
    }
    const std::int64_t each = static_cast<std::int64_t>(gemm_scratch_bytes(1) / sizeof(float));
    run.pool.run(p_.batches, [&](std::int64_t i, int thread) {
      gemm_here(gemm_, problem(run, i, own_b + thread * packed_size()), scratch + thread * each);
    });
  }
  const char* name() const noexcept override { return "gemm_f32"; }

 private:
  std::int64_t packed_size() const { return packed_b_floats(gemm_, p_.k, p_.n); }
  MatrixF32 matrix_b(const float* b) const {
    return p_.transpose_b ? MatrixF32{b, 1, p_.k} : MatrixF32{b, p_.n, 1};
  }

  GemmProblemF32 problem(const KernelRun& run, std::int64_t i, float* own_b) const noexcept {
    GemmProblemF32 g;
    g.m = p_.m;
    g.n = p_.n;
    g.k = p_.k;
    const float* a = run.inputs[0].as<float>() + p_.a_at[static_cast<std::size_t>(i)];
    g.a = p_.transpose_a ? MatrixF32{a, 1, p_.m} : MatrixF32{a, p_.k, 1};
    const std::int64_t b_at = p_.b_at[static_cast<std::size_t>(i)];
    if (!packed_) {
      pack_b(gemm_, matrix_b(run.inputs[1].as<float>() + b_at), p_.k, p_.n, p_.alpha, own_b);
      g.packed_b = own_b;
    } else {
      g.packed_b = reinterpret_cast<const float*>(packed_.get()) +
                   (p_.k * p_.n > 0 ? b_at / (p_.k * p_.n) : 0) * packed_size();
    }
    g.c = run.outputs[0].as<float>() + i * p_.m * p_.n;
    g.c_stride = p_.n;
    g.activation = p_.activation;
    if (p_.start == Product::Start::none) return g;
    const float* c = p_.scaled_start.empty() ? run.inputs[2].as<float>() : p_.scaled_start.data();
    if (p_.start == Product::Start::column) g.column_start = c;
    if (p_.start == Product::Start::row) g.row_start = c;
    if (p_.start == Product::Start::matrix) {
      g.accumulate = true;
      std::memcpy(g.c, c, static_cast<std::size_t>(p_.m * p_.n) * sizeof(float));
    }
    return g;
  }

  Product p_;
  const GemmF32& gemm_;
  std::int64_t matrices_ = 0;
  Pack packed_;
};

std::optional<Product> gemm_product(const BindRequest& r) {
  const Operand &a = r.input(0), &b = r.input(1), &c = r.input(2), &y = r.output();
  Product p;
  p.transpose_a = r.attributes.integer("transA") != 0;
  p.transpose_b = r.attributes.integer("transB") != 0;
  if (a.shape.rank < 2 || (p.transpose_a && a.shape.rank != 2) || b.shape.rank != 2 ||
      y.shape.rank != a.shape.rank)
    return {};
  p.alpha = r.attributes.real("alpha", 1);
  p.m = p.transpose_a ? a.shape[1] : a.shape.product(0, a.shape.rank - 1);
  p.k = p.transpose_a ? a.shape[0] : a.shape.back();
  p.n = b.shape[p.transpose_b ? 0 : 1];
  if (b.shape[p.transpose_b ? 1 : 0] != p.k || y.shape.back() != p.n ||
      y.shape.elements() != p.m * p.n)
    return {};
  p.a_at = p.b_at = {0};
  const std::optional<BoundActivation> activation = bound_activation(r);
  if (!activation) return {};
  p.activation = *activation;
  const float beta = r.attributes.real("beta", 1);
  if (!c.present() || beta == 0) return p;
  const bool matrix = a.shape.rank == 2;
  if (c.shape == Shape{p.n} || (matrix && c.shape == Shape{1, p.n}))
    p.start = Product::Start::column;
  else if (matrix && c.shape == Shape{p.m, 1})
    p.start = Product::Start::row;
  else if (c.shape == y.shape)
    p.start = Product::Start::matrix;
  else
    return {};
  if (beta != 1) {
    if (!c.constant) return {};
    const auto* from = static_cast<const float*>(c.constant);
    for (std::int64_t i = 0; i < c.shape.elements(); i++) p.scaled_start.push_back(beta * from[i]);
  }
  return p;
}

std::optional<Product> matmul_product(const BindRequest& r) {
  const Shape &a = r.input(0).shape, &b = r.input(1).shape, &y = r.output().shape;
  if (a.rank < 2 || b.rank < 2 || y.rank != std::max(a.rank, b.rank)) return {};
  Product p;
  p.m = a[a.rank - 2];
  p.k = a.back();
  p.n = b.back();
  if (b[b.rank - 2] != p.k || y.back() != p.n || y[y.rank - 2] != p.m) return {};
  for (const Shape* s : {&a, &b})
    for (int i = 0; i < s->rank - 2; i++)
      if ((*s)[i] != 1 && (*s)[i] != y[i + y.rank - s->rank]) return {};
  p.batches = y.product(0, y.rank - 2);
  if (p.batches > 1 && b.elements() == p.k * p.n && a.elements() == p.batches * p.m * p.k) {
    p.m *= p.batches;  // the same B for all: one tall product
    p.batches = 1;
  }
  if (p.batches > 1'000'000) return {};
  for (std::int64_t i = 0; i < p.batches; i++) {
    std::int64_t at[2] = {0, 0};
    const Shape* shapes[2] = {&a, &b};
    for (int which = 0; which < 2 && p.batches > 1; which++) {
      const Shape& s = *shapes[which];
      std::int64_t rest = i, stride = s[s.rank - 2] * s.back();
      for (int axis = y.rank - 2; axis-- > 0;) {
        const std::int64_t place = rest % y[axis];
        rest /= y[axis];
        const int own = axis - (y.rank - s.rank);
        if (own < 0) continue;
        if (s[own] != 1) at[which] += place * stride;
        stride *= s[own];
      }
    }
    p.a_at.push_back(at[0]);
    p.b_at.push_back(at[1]);
  }
  return p;
}

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  if (!r.fixed() || !r.all_f32() || !r.input(0).present() || !r.input(1).present() ||
      !r.output().present())
    return nullptr;
  if (r.output().shape.elements() == 0) return nullptr;
  std::optional<Product> p = r.name == "MatMul" ? matmul_product(r) : gemm_product(r);
  if (!p) return nullptr;
  auto kernel = std::make_unique<Gemm>(std::move(*p), inner<GemmF32>("gemm_f32", r.isa));
  if (r.input(1).constant) kernel->pack(r);
  return kernel;
}

}  // namespace

extern constinit const Kernel kernel_gemm_f32 = {
    .name = "gemm_f32",
    .doc = "f32 matrix products, with bias and activation where the operator has them.",
    .operators = {"Gemm", "MatMul", "com.microsoft.FusedGemm"},
    .bind = bind,
    .example = "(a: f32[7,20], b: f32[20,9]) { y = MatMul(a, b) return y }",
};

}  // namespace longshore::kernels
