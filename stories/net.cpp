#include "net.hpp"

#include <fmt/format.h>

namespace longshore::stories {
namespace {

std::string type_of(std::int64_t c, std::int64_t h, std::int64_t w) {
  return fmt::format("i8[1,{},{},{}] q(0.05, 0)", c, h, w);
}

}  // namespace

Net::Net(std::int64_t c, std::int64_t h, std::int64_t w) {
  // Bytes as a camera has them: planes would be scattered to pixels first.
  input_ = value(c, h, w, "Transpose(x, perm=[0,3,1,2])");
}

Net::Value Net::value(std::int64_t c, std::int64_t h, std::int64_t w,
                      const std::string& expression) {
  Value v{fmt::format("v{}", count_++), c, h, w};
  statements_ += fmt::format("  {}: {} = {}\n", v.name, type_of(c, h, w), expression);
  return v;
}

Net::Value Net::conv(const Value& x, const Conv& c) {
  const std::int64_t pad = c.pad < 0 ? c.kernel / 2 : c.pad;
  const std::int64_t h = (x.h + 2 * pad - c.kernel) / c.stride + 1,
                     w = (x.w + 2 * pad - c.kernel) / c.stride + 1;
  macs_ += c.out * h * w * x.c * c.kernel * c.kernel;
  const std::string arguments = fmt::format(
      "({0}, i8[{1},{2},{3},{3}] q(0.01, 0) {{{6}}}, strides=[{4},{4}], "
      "pads=[{5},{5},{5},{5}]",
      x.name, c.out, x.c, c.kernel, c.stride, pad, count_ % 100 + 1);
  if (c.act == Act::relu)
    return value(c.out, h, w, "com.microsoft.FusedConv" + arguments + ", activation=\"Relu\")");
  const Value y = value(c.out, h, w, "Conv" + arguments + ")");
  return c.act == Act::none ? y : value(c.out, h, w, "Swish(" + y.name + ")");
}

Net::Value Net::add(const Value& a, const Value& b) {
  return value(a.c, a.h, a.w, "Add(" + a.name + ", " + b.name + ")");
}

Net::Value Net::concat(const std::vector<Value>& parts) {
  std::int64_t c = 0;
  std::string names;
  for (const Value& v : parts) c += v.c, names += v.name + ", ";
  return value(c, parts[0].h, parts[0].w,
               "Concat(" + names.substr(0, names.size() - 2) + ", axis=1)");
}

Net::Value Net::second_half(const Value& x) {
  return value(
      x.c / 2, x.h, x.w,
      fmt::format("Slice({}, i64[1]{{{}}}, i64[1]{{{}}}, i64[1]{{1}})", x.name, x.c / 2, x.c));
}

Net::Value Net::max_pool(const Value& x, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t pad = stride == 1 ? kernel / 2 : 0;
  return value(x.c, (x.h + 2 * pad - kernel) / stride + 1, (x.w + 2 * pad - kernel) / stride + 1,
               fmt::format("MaxPool({0}, kernel_shape=[{1},{1}], strides=[{2},{2}], "
                           "pads=[{3},{3},{3},{3}])",
                           x.name, kernel, stride, pad));
}

Net::Value Net::twice(const Value& x) {
  return value(x.c, 2 * x.h, 2 * x.w,
               "Resize(" + x.name +
                   ", _, f32[4]{1, 1, 2, 2}, mode=\"nearest\", "
                   "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\")");
}

Net::Value Net::dense(const Value& x, std::int64_t out, Act act) {
  // A convolution whose window is the whole image.
  return conv(x, {.out = out, .kernel = x.h, .pad = 0, .act = act});
}

std::string Net::text(const std::vector<Value>& outputs, bool planes) const {
  std::string names, last;
  for (const Value& v : outputs) {
    names += (names.empty() ? "" : ", ") + std::string(planes ? "" : "out_") + v.name;
    if (!planes)
      last += fmt::format("  out_{0}: {1} = Transpose({0}, perm=[0,2,3,1])\n", v.name,
                          type_of(v.h, v.w, v.c));
  }
  return fmt::format("(x: {}) {{\n{}{}  return {}\n}}\n", type_of(input_.h, input_.w, input_.c),
                     statements_, last, names);
}

Net yolov5s(std::int64_t size, Net::Act act, std::vector<Net::Value>& outputs) {
  using Value = Net::Value;
  Net n(3, size, size);
  const auto conv = [&](const Value& x, std::int64_t out, std::int64_t kernel = 1,
                        std::int64_t stride = 1) {
    return n.conv(x, {.out = out, .kernel = kernel, .stride = stride, .act = act});
  };
  const auto c3 = [&](const Value& x, std::int64_t c, int blocks, bool skip = true) {
    Value a = conv(x, c / 2);
    for (int i = 0; i < blocks; i++) {
      const Value y = conv(conv(a, c / 2), c / 2, 3);
      a = skip ? n.add(a, y) : y;
    }
    return conv(n.concat({a, conv(x, c / 2)}), c);
  };
  Value x = n.conv(n.input(), {.out = 32, .kernel = 6, .stride = 2, .pad = 2, .act = act});
  x = c3(conv(x, 64, 3, 2), 64, 1);
  const Value p3 = c3(conv(x, 128, 3, 2), 128, 2), p4 = c3(conv(p3, 256, 3, 2), 256, 3);
  x = c3(conv(p4, 512, 3, 2), 512, 1);
  const Value y = conv(x, 256), a = n.max_pool(y, 5), b = n.max_pool(a, 5), c = n.max_pool(b, 5);
  const Value h1 = conv(conv(n.concat({y, a, b, c}), 512), 256);
  const Value h2 = conv(c3(n.concat({n.twice(h1), p4}), 256, 1, false), 128);
  const Value o3 = c3(n.concat({n.twice(h2), p3}), 128, 1, false);
  const Value o4 = c3(n.concat({conv(o3, 128, 3, 2), h2}), 256, 1, false);
  const Value o5 = c3(n.concat({conv(o4, 256, 3, 2), h1}), 512, 1, false);
  for (const Value& o : {o3, o4, o5}) outputs.push_back(n.conv(o, {.out = 255}));
  return n;
}

Net yolov8s(std::int64_t size, Net::Act act, std::vector<Net::Value>& outputs) {
  using Value = Net::Value;
  Net n(3, size, size);
  const auto conv = [&](const Value& x, std::int64_t out, std::int64_t kernel = 1,
                        std::int64_t stride = 1) {
    return n.conv(x, {.out = out, .kernel = kernel, .stride = stride, .act = act});
  };
  // Both halves of the first convolution are joined again as they are.
  const auto c2f = [&](const Value& x, std::int64_t c, int blocks, bool skip) {
    std::vector<Value> parts = {conv(x, c)};
    Value last = n.second_half(parts.front());
    for (int i = 0; i < blocks; i++) {
      const Value y = conv(conv(last, c / 2, 3), c / 2, 3);
      last = skip ? n.add(last, y) : y;
      parts.push_back(last);
    }
    return conv(n.concat(parts), c);
  };
  Value x = conv(conv(n.input(), 32, 3, 2), 64, 3, 2);
  x = c2f(x, 64, 1, true);
  const Value p3 = c2f(conv(x, 128, 3, 2), 128, 2, true),
              p4 = c2f(conv(p3, 256, 3, 2), 256, 2, true);
  x = c2f(conv(p4, 512, 3, 2), 512, 1, true);
  const Value y = conv(x, 256), a = n.max_pool(y, 5), b = n.max_pool(a, 5), c = n.max_pool(b, 5);
  const Value p5 = conv(n.concat({y, a, b, c}), 512);
  const Value h4 = c2f(n.concat({n.twice(p5), p4}), 256, 1, false);
  const Value o3 = c2f(n.concat({n.twice(h4), p3}), 128, 1, false);
  const Value o4 = c2f(n.concat({conv(o3, 128, 3, 2), h4}), 256, 1, false);
  const Value o5 = c2f(n.concat({conv(o4, 256, 3, 2), p5}), 512, 1, false);
  // Boxes: 64 channels; classes: 128, for 80 of them.
  for (const Value& o : {o3, o4, o5})
    for (const auto& [middle, out] : {std::pair{64, 64}, std::pair{128, 80}})
      outputs.push_back(n.conv(conv(conv(o, middle, 3), middle, 3), {.out = out}));
  return n;
}

Net vgg16(std::vector<Net::Value>& outputs) {
  Net n(3, 224, 224);
  Net::Value x = n.input();
  for (const auto& [channels, count] : {std::pair{64, 2}, std::pair{128, 2}, std::pair{256, 3},
                                        std::pair{512, 3}, std::pair{512, 3}}) {
    for (int i = 0; i < count; i++)
      x = n.conv(x, {.out = channels, .kernel = 3, .act = Net::Act::relu});
    x = n.max_pool(x, 2, 2);
  }
  x = n.dense(n.dense(x, 4096, Net::Act::relu), 4096, Net::Act::relu);
  outputs.push_back(n.dense(x, 1000, Net::Act::none));
  return n;
}

}  // namespace longshore::stories
