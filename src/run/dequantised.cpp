#include "run/frame.hpp"
#include "tensor/quant.hpp"
#include "tensor/table_codes.hpp"

namespace longshore {
namespace {

/// Shows float inputs and collects float outputs for quantised ones.
class FloatContext final : public EvalContext {
 public:
  FloatContext(EvalContext& outer, std::span<const TensorView> in, std::span<Buffer> floats,
               MemoryBudget& budget)
      : EvalContext(outer.attributes, in, outer.rounding, outer.scratch),
        outer_(outer),
        floats_(floats),
        budget_(budget) {}

  std::size_t output_count() const noexcept override { return outer_.output_count(); }
  bool wants(std::size_t i) const noexcept override { return outer_.wants(i); }
  DType output_dtype(std::size_t i) const noexcept override {
    return quantised(i) ? DType::f32 : outer_.output_dtype(i);
  }
  QuantView output_quant(std::size_t) const noexcept override { return {}; }
  Shape inferred_dims(std::size_t i) const noexcept override { return outer_.inferred_dims(i); }
  Status output(std::size_t i, const Shape& dims, MutableView& view) noexcept override {
    if (!quantised(i)) return outer_.output(i, dims, view);
    const std::int64_t n = checked_elements(dims);
    if (n < 0) return Status::error(Code::exhausted, "an output is too large");
    LONGSHORE_TRY(floats_[i].reserve(static_cast<std::uint64_t>(n) * sizeof(float), budget_));
    view = {DType::f32, dims, floats_[i].data(), {}};
    made_[i] = view;
    return {};
  }
  Status run(std::string_view name, std::span<const TensorView> in,
             std::span<TensorView> out) noexcept override {
    return outer_.run(name, in, out);
  }

  Status quantise_outputs() noexcept {
    for (std::size_t i = 0; i < output_count(); i++) {
      if (!made_[i].data) continue;
      MutableView to;
      LONGSHORE_TRY(outer_.output(i, made_[i].shape, to));
      LONGSHORE_TRY(quantise_tensor(made_[i], to));
    }
    return {};
  }

 private:
  bool quantised(std::size_t i) const noexcept {
    return wants(i) && outer_.output_quant(i).count > 0;
  }

  EvalContext& outer_;
  std::span<Buffer> floats_;
  MemoryBudget& budget_;
  MutableView made_[most_float_operands];
};

}  // namespace

Status eval_dequantised(const Operator& op, EvalContext& outer, std::span<Buffer> floats,
                        MemoryBudget& budget) noexcept {
  if (op.wide_table && takes_wide_table(outer)) return eval_wide_table(op.eval, outer);
  const std::size_t in = outer.inputs.size(), out = outer.output_count();
  if (in > most_float_operands || out > most_float_operands || in + out > floats.size())
    return Status::error(Code::unsupported, "a quantised operator with more than %zu operands",
                         most_float_operands);
  TensorView views[most_float_operands];
  for (std::size_t i = 0; i < in; i++) {
    views[i] = outer.inputs[i];
    if (!views[i].present() || views[i].quant.count == 0) continue;
    LONGSHORE_TRY(
        floats[i].reserve(static_cast<std::uint64_t>(views[i].elements()) * sizeof(float), budget));
    const MutableView to{DType::f32, views[i].shape, floats[i].data(), {}};
    LONGSHORE_TRY(dequantise_tensor(views[i], to));
    views[i] = to;
  }
  FloatContext context(outer, std::span(views, in), floats.subspan(in), budget);
  LONGSHORE_TRY(op.eval(context));
  return context.quantise_outputs();
}

}  // namespace longshore
