#include "cpu/support/window.hpp"

namespace longshore::cpu {

std::optional<Window> make_window(const Attributes& a, const Shape& in, const Shape& out,
                                  std::span<const std::int64_t> kernel) {
  const int spatial = in.rank - 2;
  if (spatial < 1 || spatial > 2 || out.rank != in.rank ||
      static_cast<int>(kernel.size()) != spatial)
    return {};
  Window w;
  const std::string_view mode = a.text("auto_pad", "NOTSET");
  for (int i = 0; i < spatial; i++) {
    const auto at = [&](const char* name, std::size_t count, std::size_t k,
                        std::int64_t otherwise) {
      const std::span<const std::int64_t> list = a.integers(name);
      return list.size() == count ? list[k] : otherwise;
    };
    const auto n = static_cast<std::size_t>(spatial), k = static_cast<std::size_t>(i);
    Window::Axis& axis = i == spatial - 1 ? w.columns : w.rows;
    axis.in = in[2 + i];
    axis.out = out[2 + i];
    axis.kernel = kernel[k];
    axis.stride = at("strides", n, k, 1);
    axis.dilation = at("dilations", n, k, 1);
    if (axis.in < 1 || axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1) return {};
    const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const std::int64_t total =
          std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + reach - axis.in);
      axis.begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.end = total - axis.begin;
    } else if (mode == "NOTSET" || mode.empty()) {
      axis.begin = at("pads", 2 * n, k, 0);
      axis.end = at("pads", 2 * n, n + k, 0);
    } else if (mode != "VALID") {
      return {};
    }
    if (axis.begin < 0 || axis.end < 0) return {};
    const std::int64_t room = axis.in + axis.begin + axis.end - reach;
    if (room < 0 || axis.out < 1 || axis.out > room / axis.stride + 2) return {};
  }
  return w;
}

}  // namespace longshore::cpu
