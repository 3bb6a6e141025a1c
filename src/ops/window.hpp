// Windows that slide over one to three spatial dimensions: convolutions and pools.
#pragma once
#include "ops/movement.hpp"
#include "tensor/window.hpp"

namespace longshore::ops {

/// make_window for inference, where dims may be unknown: the spatial dims for x and kernel.
inline Dims infer_window(InferContext& c, const TensorType& x, std::span<const Dim> kernel) {
  const int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 3)
    c.fail("its input has rank " + std::to_string(x.rank()) + "; rank 3, 4 or 5 is supported");
  if (static_cast<int>(kernel.size()) != spatial)
    c.fail("its kernel has " + std::to_string(kernel.size()) + " dimensions, its input " +
           std::to_string(spatial));
  Dims out;
  for (int i = 0; i < spatial; i++) {
    const Dim &in = x.dims[static_cast<std::size_t>(2 + i)],
              &k = kernel[static_cast<std::size_t>(i)];
    if (!k.known()) {
      out.emplace_back();
      continue;
    }
    Window w;
    w.in[0] = in.value;
    w.kernel[0] = k.value;
    if (const Status s = window_axis(c.attributes(), i, spatial, 0, in.known(), w); !s.ok())
      c.fail(s.text());
    const bool same_pad = c.attributes().text("auto_pad").substr(0, 4) == "SAME";
    const bool keeps =
        w.stride[0] == 1 && (same_pad || w.begin[0] + w.end[0] == (k.value - 1) * w.dilation[0]);
    out.push_back(in.known() ? Dim(w.out[0]) : keeps ? in : Dim());
  }
  return out;
}

/// Facts that every windowed operator has; 1-D windows are one row high.
inline void window_facts(const NodeTypes& n, std::span<const std::int64_t> kernel, Facts& facts) {
  tensor_facts(n, facts);
  const std::optional<Shape> x = n.input(0).shape();
  Window w;
  if (!x || !make_window(n.node.attributes, *x, kernel, w).ok()) return;
  facts["kernel_h"] = w.kernel[1], facts["kernel_w"] = w.kernel[2];
  facts["stride_h"] = w.stride[1], facts["stride_w"] = w.stride[2];
  facts["dilation_h"] = w.dilation[1], facts["dilation_w"] = w.dilation[2];
  facts["pad_top"] = w.begin[1], facts["pad_left"] = w.begin[2];
  facts["pad_bottom"] = w.end[1], facts["pad_right"] = w.end[2];
  const TensorType& y = n.output();
  if (y.rank() > 1 && y.dims[1].known()) facts["out_channels"] = y.dims[1].value;
}

}  // namespace longshore::ops
