// What Loop and Scan share: values that a body carries from one turn to the next.
#pragma once
#include <vector>

#include "ops/movement.hpp"

namespace longshore::ops {

/// Loops with more values than this are refused; their views live on the stack.
inline constexpr std::size_t most_carried = 96;

/// What is true of both types; the looser where they differ.
TensorType common_type(const TensorType& a, const TensorType& b);

/// Infers the body until the types it is given hold for what it gives back: inputs [first, first +
/// count) are carried and come back as outputs [first_out, first_out + count). `inputs` is widened.
std::vector<TensorType> infer_carried(InferContext& c, std::vector<TensorType>& inputs,
                                      std::size_t first, std::size_t first_out, std::size_t count);

/// Output i of the node becomes a copy of the view.
Status copy_output(EvalContext& c, std::size_t i, const TensorView& from) noexcept;

/// Inferred dims with unknown ones as 0 and `axis` as 0: a stack of nothing.
Shape empty_stack(const EvalContext& c, std::size_t i, int axis) noexcept;

}  // namespace longshore::ops
