#include "tensor/table_codes.hpp"

#include <algorithm>

#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore {
namespace {

constexpr std::size_t most_inputs = 8;

/// Floats of the table's length in and out.
class TableContext final : public EvalContext {
 public:
  TableContext(const EvalContext& outer, std::span<const TensorView> in, float* to)
      : EvalContext(outer.attributes, in, outer.rounding, outer.scratch), to_(to) {}

  std::size_t output_count() const noexcept override { return 1; }
  bool wants(std::size_t i) const noexcept override { return i == 0; }
  DType output_dtype(std::size_t) const noexcept override { return DType::f32; }
  QuantView output_quant(std::size_t) const noexcept override { return {}; }
  Shape inferred_dims(std::size_t) const noexcept override { return dims; }
  Status output(std::size_t, const Shape& got, MutableView& view) noexcept override {
    if (!(got == dims))
      return Status::error(Code::internal, "an element-wise operator changed the dims");
    view = {DType::f32, dims, to_, {}};
    return {};
  }
  Status run(std::string_view, std::span<const TensorView>,
             std::span<TensorView>) noexcept override {
    return Status::error(Code::internal, "an element-wise operator has no subgraph");
  }

  const Shape dims{static_cast<std::int64_t>(wide_table_entries)};

 private:
  float* to_;
};

}  // namespace

bool takes_wide_table(const EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  if (c.output_count() != 1 || c.inputs.size() > most_inputs || x.dtype != DType::i16 ||
      c.output_dtype(0) != DType::i16 || x.quant.count != 1 || c.output_quant(0).count != 1)
    return false;
  return std::all_of(c.inputs.begin() + 1, c.inputs.end(), [](const TensorView& v) {
    return !v.present() || (v.quant.count == 0 && v.elements() == 1);
  });
}

Status make_wide_table(Status (*eval)(EvalContext&) noexcept, const EvalContext& c,
                       std::int16_t* entries) noexcept {
  const QuantView from = c.input(0).quant, to = c.output_quant(0);
  float x[wide_table_entries], y[wide_table_entries];
  for (std::size_t i = 0; i < wide_table_entries; i++)
    x[i] = dequantise(wide_table_code(i), from.scale[0], from.zero_point[0]);
  TensorView in[most_inputs];
  std::copy(c.inputs.begin(), c.inputs.end(), in);
  TableContext table(c, std::span(in, c.inputs.size()), y);
  in[0] = {DType::f32, table.dims, x, {}};
  LONGSHORE_TRY(eval(table));
  const CodeRange codes = code_range(DType::i16);
  for (std::size_t i = 0; i < wide_table_entries; i++)
    entries[i] = static_cast<std::int16_t>(
        quantise(y[i], to.scale[0], to.zero_point[0], codes.lowest, codes.highest));
  return {};
}

Status eval_wide_table(Status (*eval)(EvalContext&) noexcept, EvalContext& c) noexcept {
  std::int16_t entries[wide_table_entries];
  LONGSHORE_TRY(make_wide_table(eval, c, entries));
  MutableView out;
  LONGSHORE_TRY(c.output(0, c.input(0).shape, out));
  const auto* x = c.input(0).as<std::int16_t>();
  auto* y = out.as<std::int16_t>();
  for (std::int64_t i = 0, n = out.elements(); i < n; i++) y[i] = interpolated(entries, x[i]);
  return {};
}

}  // namespace longshore
