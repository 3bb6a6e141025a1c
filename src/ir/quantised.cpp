#include "ir/quantised.hpp"

#include <new>
#include <vector>

#include "ir/op.hpp"
#include "tensor/quant.hpp"
#include "tensor/table_codes.hpp"

namespace longshore {
namespace {

/// Shows float inputs and collects float outputs for quantised ones.
class FloatContext final : public EvalContext {
 public:
  FloatContext(EvalContext& outer, std::span<const TensorView> in)
      : EvalContext(outer.attributes, in, outer.rounding, outer.scratch),
        outer_(outer),
        floats_(outer.output_count()) {}

  std::size_t output_count() const noexcept override { return outer_.output_count(); }
  bool wants(std::size_t i) const noexcept override { return outer_.wants(i); }
  DType output_dtype(std::size_t i) const noexcept override {
    return quantised(i) ? DType::f32 : outer_.output_dtype(i);
  }
  QuantView output_quant(std::size_t) const noexcept override { return {}; }
  Shape inferred_dims(std::size_t i) const noexcept override { return outer_.inferred_dims(i); }
  Status output(std::size_t i, const Shape& dims, MutableView& view) noexcept override {
    if (!quantised(i)) return outer_.output(i, dims, view);
    const std::int64_t n = checked_elements(dims, std::int64_t{1} << 32);
    if (n < 0) return Status::error(Code::exhausted, "an output is too large");
    try {
      floats_[i].values.resize(static_cast<std::size_t>(n) + 1);
    } catch (const std::bad_alloc&) {
      return Status::error(Code::exhausted, "no memory for %lld floats", static_cast<long long>(n));
    }
    floats_[i].dims = dims;
    floats_[i].set = true;
    view = {DType::f32, dims, floats_[i].values.data(), {}};
    return {};
  }
  Status run(std::string_view name, std::span<const TensorView> in,
             std::span<TensorView> out) noexcept override {
    return outer_.run(name, in, out);
  }

  Status quantise_outputs() noexcept {
    for (std::size_t i = 0; i < floats_.size(); i++) {
      if (!floats_[i].set) continue;
      MutableView to;
      LONGSHORE_TRY(outer_.output(i, floats_[i].dims, to));
      LONGSHORE_TRY(
          quantise_tensor({DType::f32, floats_[i].dims, floats_[i].values.data(), {}}, to));
    }
    return {};
  }

 private:
  struct Floats {
    std::vector<float> values;
    Shape dims;
    bool set = false;
  };
  bool quantised(std::size_t i) const noexcept {
    return wants(i) && outer_.output_quant(i).count > 0;
  }

  EvalContext& outer_;
  std::vector<Floats> floats_;
};

}  // namespace

Status eval_dequantised(const OpDef& op, EvalContext& outer) noexcept {
  if (op.quant == Quant::table && !op.steep && takes_wide_table(outer))
    return eval_wide_table(op.eval, outer);
  try {
    std::vector<TensorView> in(outer.inputs.begin(), outer.inputs.end());
    std::vector<std::vector<float>> floats(in.size());
    for (std::size_t i = 0; i < in.size(); i++) {
      if (in[i].quant.count == 0) continue;
      floats[i].resize(static_cast<std::size_t>(in[i].elements()) + 1);
      const MutableView to{DType::f32, in[i].shape, floats[i].data(), {}};
      LONGSHORE_TRY(dequantise_tensor(in[i], to));
      in[i] = to;
    }
    FloatContext context(outer, in);
    LONGSHORE_TRY(op.eval(context));
    return context.quantise_outputs();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::exhausted, "out of memory");
  }
}

}  // namespace longshore
