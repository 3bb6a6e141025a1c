#pragma once
#include <string_view>

#include "tensor/eval_context.hpp"
#include "tensor/schema.hpp"

namespace longshore {

/// The generic kernel of an operator, as the caller of Model::load supplies it. The compiler side
/// makes the table from its operators; the smallest runtime has none.
struct Operator {
  std::string_view domain, name;
  std::size_t (*scratch)(const ScratchContext&) noexcept = nullptr;
  Status (*eval)(EvalContext&) noexcept = nullptr;
  Status (*eval_quantised)(EvalContext&) noexcept = nullptr;  // null: dequantise, eval, quantise
  const Schema* schema = nullptr;                             // checked at load where present
  bool table = false;       // element i of output 0 depends on element i of input 0 alone
  bool wide_table = false;  // and 16-bit codes go through tensor/table_codes.hpp
};

}  // namespace longshore
