#pragma once
#include <string>

#include "compile/compile.hpp"

namespace longshore::compile {

/// Why a node of Compiled::graph computes in float.
struct WhyFloat {
  std::string text;    // "has no int8 form", "its input is float because of 'X' (LSTM)"
  std::string change;  // what would give it codes; empty where nothing does
  Wanted wanted = {};  // the same as a value; of a node that only follows, `what` is the cause
};
WhyFloat why_float(const Compiled&, std::size_t node);

}  // namespace longshore::compile
