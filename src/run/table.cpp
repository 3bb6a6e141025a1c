#include "run/table.hpp"

#include <algorithm>

#include "run/frame.hpp"

namespace longshore {
namespace {

constexpr std::int64_t claim = 65536;

class TableKernel final : public cpu::BoundKernel {
 public:
  explicit TableKernel(const std::uint8_t (&entries)[256]) { std::copy_n(entries, 256, entries_); }
  void run(const cpu::KernelRun& run) const noexcept override {
    const auto* x = run.inputs[0].as<std::uint8_t>();
    auto* y = run.outputs[0].as<std::uint8_t>();
    const std::int64_t n = run.outputs[0].elements();
    run.pool.run((n + claim - 1) / claim, [&](std::int64_t chunk, int) {
      for (std::int64_t i = chunk * claim, end = std::min(n, i + claim); i < end; i++)
        y[i] = entries_[x[i]];
    });
  }
  const char* name() const noexcept override { return "table"; }

 private:
  std::uint8_t entries_[256];
};

/// Runs the operator on all 256 codes.
class TableContext final : public EvalContext {
 public:
  TableContext(const cpu::BindRequest& r, std::span<const TensorView> in,
               std::span<std::byte> scratch, std::uint8_t* to)
      : EvalContext(r.attributes, in, r.rounding, scratch), out_(r.output()), to_(to) {}
  std::size_t output_count() const noexcept override { return 1; }
  bool wants(std::size_t i) const noexcept override { return i == 0; }
  DType output_dtype(std::size_t) const noexcept override { return out_.dtype; }
  QuantView output_quant(std::size_t) const noexcept override { return out_.quant; }
  Shape inferred_dims(std::size_t) const noexcept override { return {256}; }
  Status output(std::size_t, const Shape& dims, MutableView& view) noexcept override {
    if (!(dims == Shape{256}))
      return Status::error(Code::internal, "an element-wise operator changed the dims");
    view = {out_.dtype, dims, to_, out_.quant};
    return {};
  }
  Status run(std::string_view, std::span<const TensorView>,
             std::span<TensorView>) noexcept override {
    return Status::error(Code::internal, "an element-wise operator has no subgraph");
  }

 private:
  const cpu::Operand& out_;
  std::uint8_t* to_;
};

bool bytes(const cpu::Operand& o) {
  return (o.dtype == DType::i8 || o.dtype == DType::u8) && o.quant.count == 1;
}

}  // namespace

std::unique_ptr<cpu::BoundKernel> bind_table(const Operator& op, const cpu::BindRequest& r) {
  const cpu::Operand &x = r.input(0), &y = r.output();
  if (!op.table || !op.eval || !r.fixed() || r.outputs.size() != 1 || !bytes(x) || !bytes(y) ||
      !(x.shape == y.shape))
    return nullptr;
  std::uint8_t codes[256], entries[256];
  for (int i = 0; i < 256; i++) codes[i] = static_cast<std::uint8_t>(i);
  std::vector<TensorView> in = {{x.dtype, Shape{256}, codes, x.quant}};
  for (std::size_t i = 1; i < r.inputs.size(); i++) {
    const cpu::Operand& o = r.inputs[i];
    if (o.present() && (!o.constant || o.quantised() || o.shape.elements() != 1)) return nullptr;
    in.push_back({o.dtype, o.shape, o.constant, o.quant});
  }
  MemoryBudget budget;
  Buffer scratch;
  std::vector<Buffer> floats(in.size() + 1);
  std::uint64_t wanted = op.scratch ? op.scratch({r.attributes, in}) : 0;
  wanted = wanted * 4 + 4096;
  if (!scratch.reserve(wanted, budget).ok()) return nullptr;
  TableContext context(r, in, std::span(scratch.data(), wanted), entries);
  const Status status = op.eval_quantised ? op.eval_quantised(context)
                                          : eval_dequantised(op, context, floats, budget);
  if (!status.ok()) return nullptr;
  return std::make_unique<TableKernel>(entries);
}

}  // namespace longshore
