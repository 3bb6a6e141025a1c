#include "cpu/bind.hpp"
#include "tensor/quant.hpp"
#include "tensor/softmax_codes.hpp"
#include "tensor/visit.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

template <class In, class Out>
class SoftmaxBytes final : public BoundKernel {
 public:
  SoftmaxBytes(const Operand& x, const Operand& y)
      : n_(x.shape.back()),
        rows_(n_ > 0 ? x.shape.elements() / n_ : 0),
        table_(softmax_table(x.quant.scale[0])) {
    const CodeRange range = code_range(y.dtype);
    out_ = {y.quant.scale[0], y.quant.zero_point[0], range.lowest, range.highest};
  }
  void run(const KernelRun& run) const noexcept override {
    const In* x = run.inputs[0].as<In>();
    Out* y = run.outputs[0].as<Out>();
    const std::int64_t together = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(n_, 1));
    run.pool.run((rows_ + together - 1) / together, [&](std::int64_t chunk, int) {
      for (std::int64_t r = chunk * together, end = std::min(rows_, r + together); r < end; r++)
        softmax_row(x + r * n_, y + r * n_, n_, 1, table_, out_);
    });
  }
  const char* name() const noexcept override { return "softmax_i8"; }

 private:
  std::int64_t n_, rows_;
  SoftmaxTable table_;
  SoftmaxOutput out_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  using Bytes = TypeList<std::int8_t, std::uint8_t>;
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || !x.present() || !y.present() || !(x.shape == y.shape) || x.shape.rank == 0 ||
      x.quant.count != 1 || y.quant.count != 1)
    return nullptr;
  if (resolve_axis(r.attributes.integer("axis", -1), x.shape.rank) != x.shape.rank - 1)
    return nullptr;
  std::unique_ptr<BoundKernel> out;
  visit_type(Bytes{}, x.dtype, [&]<class In>() {
    visit_type(Bytes{}, y.dtype,
               [&]<class Out>() { out = std::make_unique<SoftmaxBytes<In, Out>>(x, y); });
  });
  return out;
}

}  // namespace

extern constinit const Kernel kernel_softmax_i8 = {
    .name = "softmax_i8",
    .doc = "Softmax of 8-bit codes along the last axis.",
    .operators = {"Softmax"},
    .bind = bind,
    .example =
        "(x: i8[40,300] q(0.05, 3)) { y: i8[40,300] q(0.00390625, -128) = Softmax(x) "
        "return y }",
};

}  // namespace longshore::kernels
