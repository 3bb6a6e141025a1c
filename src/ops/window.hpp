// Windows that slide over one to three spatial dimensions: convolutions and pools.
#pragma once
#include <limits>

#include "ops/movement.hpp"
#include "tensor/window.hpp"

namespace longshore::ops {

/// One axis of a window from the attributes: strides, dilations, pads, auto_pad, ceil_mode.
/// `i` of `spatial` axes goes to place `slot`; in[slot] and kernel[slot] are set before.
inline Status window_axis(const Attributes& a, int i, int spatial, int slot, bool has_in,
                          Window& w) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto at = [&](std::string_view name, std::int64_t otherwise, int k,
                      std::int64_t& value) -> Status {
    const std::span<const std::int64_t> list = a.integers(name);
    const int wanted = name == "pads" ? 2 * spatial : spatial;
    value = otherwise;
    if (list.empty()) return {};
    if (static_cast<int>(list.size()) != wanted)
      return Status::error(Code::bad_model, "%s has %zu entries, not %d", name.data(), list.size(),
                           wanted);
    value = list[static_cast<std::size_t>(k)];
    if (value < otherwise || value > most)
      return Status::error(Code::bad_model, "%s has the entry %lld, which is not in [%d, 2^31)",
                           name.data(), static_cast<long long>(value), static_cast<int>(otherwise));
    return {};
  };
  LONGSHORE_TRY(at("strides", 1, i, w.stride[slot]));
  LONGSHORE_TRY(at("dilations", 1, i, w.dilation[slot]));
  LONGSHORE_TRY(at("pads", 0, i, w.begin[slot]));
  LONGSHORE_TRY(at("pads", 0, i + spatial, w.end[slot]));
  if (w.kernel[slot] < 1 || w.kernel[slot] > most)
    return Status::error(Code::bad_model, "a kernel of size %lld",
                         static_cast<long long>(w.kernel[slot]));
  const std::int64_t reach = (w.kernel[slot] - 1) * w.dilation[slot] + 1;
  const std::string_view mode = a.text("auto_pad", "NOTSET");
  const std::int64_t in = has_in ? w.in[slot] : 0;
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    w.out[slot] = ceil_div(in, w.stride[slot]);
    const std::int64_t total =
        std::max<std::int64_t>(0, (w.out[slot] - 1) * w.stride[slot] + reach - in);
    w.begin[slot] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.end[slot] = total - w.begin[slot];
    return {};
  }
  if (mode == "VALID")
    w.begin[slot] = w.end[slot] = 0;
  else if (mode != "NOTSET" && !mode.empty())
    return Status::error(
        Code::bad_model,
        "auto_pad is '%.20s', which is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", mode.data());
  if (!has_in) return {};
  if (in > std::int64_t{1} << 40)
    return Status::error(Code::exhausted, "an axis of more than 2^40 elements");
  const std::int64_t room = in + w.begin[slot] + w.end[slot] - reach;
  if (room < 0) {
    w.out[slot] = 0;
    if (in == 0) return {};
    return Status::error(Code::bad_argument,
                         "a window of %lld is wider than the padded input of %lld",
                         static_cast<long long>(reach), static_cast<long long>(room + reach));
  }
  if (a.integer("ceil_mode", 0) == 0) {
    w.out[slot] = room / w.stride[slot] + 1;
  } else {
    w.out[slot] = ceil_div(room, w.stride[slot]) + 1;
    // A window that would start in the padding at the end does not count.
    if ((w.out[slot] - 1) * w.stride[slot] >= in + w.begin[slot]) w.out[slot]--;
  }
  return {};
}

/// The whole window for input dims N, C, spatial... and these kernel sizes.
inline Status make_window(const Attributes& a, const Shape& x, std::span<const std::int64_t> kernel,
                          Window& w) noexcept {
  const int spatial = x.rank - 2;
  if (spatial < 1 || spatial > 3)
    return Status::error(Code::unsupported, "an input of rank %d; rank 3, 4 or 5 is supported",
                         x.rank);
  if (static_cast<int>(kernel.size()) != spatial)
    return Status::error(Code::bad_model, "kernel_shape has %zu entries, not %d", kernel.size(),
                         spatial);
  for (int i = 0; i < spatial; i++) {
    const int slot = 3 - spatial + i;
    w.in[slot] = x[2 + i];
    w.kernel[slot] = kernel[static_cast<std::size_t>(i)];
    LONGSHORE_TRY(window_axis(a, i, spatial, slot, true, w));
  }
  if (checked_elements(Shape{w.out[0], w.out[1], w.out[2]}, std::int64_t{1} << 34) < 0 ||
      checked_elements(Shape{w.kernel[0], w.kernel[1], w.kernel[2]}, std::int64_t{1} << 34) < 0)
    return Status::error(Code::exhausted, "a window with too many taps or outputs");
  return {};
}

/// N, channels, spatial dims of the output.
inline Shape window_shape(const Shape& x, std::int64_t channels, const Window& w) {
  Shape out{x[0], channels};
  for (int i = 5 - x.rank; i < 3; i++) out.push(w.out[i]);
  return out;
}

/// The same for inference, where dims may be unknown: the spatial dims for x and kernel.
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
