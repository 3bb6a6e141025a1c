#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "tensor/attribute.hpp"
#include "tensor/requantise.hpp"
#include "tensor/tensor.hpp"

namespace longshore {

/// Shapes that `scratch` may use.
struct ScratchContext {
  const Attributes& attributes;
  std::span<const TensorView> inputs;  // data may be null even for present inputs: use dtype
};

/// What an operator sees while it runs. `evaluate(graph)` serves it from the heap, src/run from
/// its arena. Operators neither throw nor allocate themselves.
class EvalContext {
 public:
  EvalContext(const Attributes& attributes, std::span<const TensorView> inputs, Rounding rounding,
              std::span<std::byte> scratch) noexcept
      : attributes(attributes), inputs(inputs), rounding(rounding), scratch(scratch) {}
  EvalContext(const EvalContext&) = delete;
  EvalContext& operator=(const EvalContext&) = delete;

  const Attributes& attributes;
  std::span<const TensorView> inputs;
  Rounding rounding;
  /// As many bytes as the operator's `scratch` asked for, 64-byte aligned.
  std::span<std::byte> scratch;

  /// The input, or an absent view where there are fewer.
  const TensorView& input(std::size_t i) const noexcept {
    static constexpr TensorView absent;
    return i < inputs.size() ? inputs[i] : absent;
  }
  bool has(std::size_t i) const noexcept { return input(i).present(); }

  virtual std::size_t output_count() const noexcept = 0;
  /// False for an optional output that nobody uses; do not call output(i) then.
  virtual bool wants(std::size_t i) const noexcept = 0;
  virtual DType output_dtype(std::size_t i) const noexcept = 0;
  virtual QuantView output_quant(std::size_t i) const noexcept = 0;
  /// The dims of output i as inference found them, -1 where unknown; rank 0 also where even the
  /// rank is unknown. A Loop that never ran its body has nothing else to go by.
  virtual Shape inferred_dims(std::size_t i) const noexcept = 0;
  /// Memory for output i. A second call with larger dims keeps the bytes written so far (they
  /// may move); that is how Loop collects its scan outputs.
  virtual Status output(std::size_t i, const Shape& dims, MutableView& view) noexcept = 0;

  /// Runs the subgraph held by the attribute of that name (then_branch, body, ...). Captured
  /// values are known to the host. The views in `outputs` stay valid until the second next run
  /// of the same subgraph, so that a loop can feed them back.
  virtual Status run(std::string_view subgraph, std::span<const TensorView> inputs,
                     std::span<TensorView> outputs) noexcept = 0;

 protected:
  ~EvalContext() = default;
};

}  // namespace longshore
