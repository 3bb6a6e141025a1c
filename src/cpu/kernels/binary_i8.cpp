#include "cpu/requantise.inner.hpp"
#include "cpu/support/broadcast.hpp"
#include "tensor/quant.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

using Function = void (*)(const BinaryRowI8&);

/// Dequantise, one float operation, quantise: the same in every rounding mode.
class BinaryI8 final : public BoundKernel {
 public:
  BinaryI8(Function f, const Broadcast& broadcast, const BinaryRowI8& form)
      : f_(f), broadcast_(broadcast), form_(form) {}

  void run(const KernelRun& run) const noexcept override {
    const auto *a = run.inputs[0].as<std::uint8_t>(), *b = run.inputs[1].as<std::uint8_t>();
    auto* y = run.outputs[0].as<std::uint8_t>();
    broadcast_.run(run.pool,
                   [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at, std::int64_t n) {
                     BinaryRowI8 row = form_;
                     row.a.codes = a + at_a;
                     row.b.codes = b + at_b;
                     row.codes = y + at;
                     row.n = static_cast<std::size_t>(n);
                     f_(row);
                   });
  }
  const char* name() const noexcept override { return "binary_i8"; }

 private:
  Function f_;
  Broadcast broadcast_;
  BinaryRowI8 form_;
};

bool bytes(const Operand& o) {
  return (o.dtype == DType::i8 || o.dtype == DType::u8) && o.quant.count == 1;
}

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &a = r.input(0), &b = r.input(1), &y = r.output();
  if (!r.fixed() || r.inputs.size() != 2 || !bytes(a) || !bytes(b) || !bytes(y)) return nullptr;
  if (!Broadcast::fits(a.shape, y.shape) || !Broadcast::fits(b.shape, y.shape)) return nullptr;
  const Broadcast broadcast(a.shape, b.shape, y.shape);
  const auto& f = inner<Requantise>("requantise", r.isa);
  const auto form = [](const Operand& o, std::size_t step) {
    return CodesI8{nullptr, step, o.dtype == DType::i8, o.quant.zero_point[0], o.quant.scale[0]};
  };
  const CodeRange range = code_range(y.dtype);
  const BinaryRowI8 row = {form(a, broadcast.step_a()),
                           form(b, broadcast.step_b()),
                           y.quant.scale[0],
                           y.quant.zero_point[0],
                           range.lowest,
                           range.highest,
                           nullptr,
                           0};
  const Function function = r.name == "Add"   ? f.add
                            : r.name == "Sub" ? f.sub
                            : r.name == "Mul" ? f.mul
                                              : f.div;
  return std::make_unique<BinaryI8>(function, broadcast, row);
}

}  // namespace

extern constinit const Kernel kernel_binary_i8 = {
    .name = "binary_i8",
    .doc = "Add, Sub, Mul and Div of 8-bit codes with broadcasting.",
    .operators = {"Add", "Sub", "Mul", "Div"},
    .bind = bind,
    .example =
        "(a: i8[4,33] q(0.1, 3), b: i8[33] q(0.2, 0)) { y: i8[4,33] q(0.11, 20) = Mul(a, b) return "
        "y }",
};

}  // namespace longshore::kernels
