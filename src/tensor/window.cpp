#include "tensor/window.hpp"

#include <limits>

namespace longshore {

Status window_axis(const Attributes& a, int i, int spatial, int slot, bool has_in,
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

Status make_window(const Attributes& a, const Shape& x, std::span<const std::int64_t> kernel,
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

Shape window_shape(const Shape& x, std::int64_t channels, const Window& w) noexcept {
  Shape out{x[0], channels};
  for (int i = 5 - x.rank; i < 3; i++) out.push(w.out[i]);
  return out;
}

Status conv_shape(const Attributes& a, const Shape& x, const Shape& w, ConvShape& s) noexcept {
  if (x.rank != w.rank || x.rank < 3)
    return Status::error(Code::bad_argument,
                         "the input has rank %d and the weights %d; both need rank 3, 4 or 5",
                         x.rank, w.rank);
  const std::span<const std::int64_t> given = a.integers("kernel_shape");
  const std::span<const std::int64_t> kernel(w.dims + 2, static_cast<std::size_t>(w.rank - 2));
  if (!given.empty() && !std::equal(given.begin(), given.end(), kernel.begin(), kernel.end()))
    return Status::error(Code::bad_model, "kernel_shape is not that of the weights");
  LONGSHORE_TRY(make_window(a, x, kernel, s.window));
  s.groups = a.integer("group", 1);
  if (s.groups < 1 || w[0] % s.groups != 0 || w[1] > x[1] || w[1] * s.groups != x[1])
    return Status::error(Code::bad_model,
                         "%lld input channels in %lld groups do not fit weights of %lld output and "
                         "%lld input channels",
                         static_cast<long long>(x[1]), static_cast<long long>(s.groups),
                         static_cast<long long>(w[0]), static_cast<long long>(w[1]));
  s.batch = x[0];
  s.group_in = w[1];
  s.group_out = w[0] / s.groups;
  s.out = window_shape(x, w[0], s.window);
  // Without padding and steps, 1x1 sees the plane as one row.
  if (Window& v = s.window; v.pointwise()) {
    v.in[2] = v.out[2] = v.in_plane();
    v.in[0] = v.in[1] = v.out[0] = v.out[1] = 1;
  }
  return {};
}

}  // namespace longshore
