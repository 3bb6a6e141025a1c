// What several operators of older opsets need to become today's.
#pragma once
#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore::ops {

/// Input 1 gets trailing dims of 1, so that its first dim meets dim `axis` of input 0. Nothing
/// happens where it already ends at input 0's last dim, or has one element.
void unsqueeze_to_axis(Node& n, std::int64_t axis, Rewriter& r);

/// Before opset 7, binary operators had `broadcast` and `axis` instead of numpy's rule.
void legacy_broadcast(Node& n, int opset, Rewriter& r);

/// An attribute of integers that is an input today.
void attribute_to_input(Node& n, std::string_view name, std::size_t input, Rewriter& r);

}  // namespace longshore::ops
