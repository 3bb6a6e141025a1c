// What Cast, CastLike and QuantizeLinear share.
#pragma once
#include "tensor/convert.hpp"
#include "tensor/eval_context.hpp"

namespace longshore::ops {

/// Reads `saturate` and `round_mode`; an error for an unknown round_mode.
inline Status float8_options(const Attributes& attributes, Float8Options& out) noexcept {
  out.saturate = attributes.integer("saturate", 1) != 0;
  const std::string_view mode = attributes.text("round_mode", "up");
  if (mode == "down")
    out.round = Float8Options::Round::down;
  else if (mode == "nearest")
    out.round = Float8Options::Round::nearest;
  else if (mode != "up")
    return Status::error(Code::bad_model, "round_mode is 'up', 'down' or 'nearest'");
  return {};
}

/// Output 0 is input 0 as the output's element type.
inline Status eval_cast(EvalContext& c) noexcept {
  Float8Options options;
  LONGSHORE_TRY(float8_options(c.attributes, options));
  MutableView y;
  LONGSHORE_TRY(c.output(0, c.input(0).shape, y));
  return cast_tensor(c.input(0), y, options);
}

/// The element type in an attribute that holds ONNX's number of it; undefined for others.
inline DType dtype_of(std::int64_t number) noexcept {
  return number > 0 && number < dtype_count ? static_cast<DType>(number) : DType::undefined;
}

}  // namespace longshore::ops
