// Bytes and other layouts as inputs: what they become is what the model's own floats would be.
#include "read/input_format.hpp"

#include <cmath>

#include "base/error.hpp"
#include "npu_case.hpp"
#include "optimize/optimize.hpp"

namespace longshore::tests::input_format_test {
namespace {

using Layout = InputFormat::Layout;

constexpr std::int64_t height = 7, width = 6;

/// Every byte occurs where there is room.
Tensor pixels(std::int64_t channels, bool nchw, std::mt19937& rng) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(height * width * channels));
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(rng());
  return make_tensor<std::uint8_t>(
      DType::u8, nchw ? Shape{1, channels, height, width} : Shape{1, height, width, channels},
      bytes);
}

/// The byte of a pixel's channel.
int byte(const Tensor& t, bool nchw, std::int64_t channels, std::int64_t y, std::int64_t x,
         std::int64_t c) {
  const std::int64_t at = nchw ? (c * height + y) * width + x : (y * width + x) * channels + c;
  return t.values<std::uint8_t>()[static_cast<std::size_t>(at)];
}

std::string dims(bool nchw, std::int64_t channels) {
  return nchw ? str("[1,", channels, ",", height, ",", width, "]")
              : str("[1,", height, ",", width, ",", channels, "]");
}

struct Case {
  std::int64_t channels;
  bool model_nchw, given_nchw, bgr;
  std::vector<float> mean, std;
};
const Case cases[] = {
    {3, true, false, false, {123.675f, 116.28f, 103.53f}, {58.395f, 57.12f, 57.375f}},
    {3, true, false, true, {103.53f, 116.28f, 123.675f}, {57.375f, 57.12f, 58.395f}},
    {3, false, false, false, {127.5f}, {127.5f}},
    {3, false, true, false, {0}, {255}},
    {3, true, true, true, {0}, {1}},
    {1, true, false, false, {33.3f}, {78.6f}},
};

double number(const std::vector<float>& list, std::int64_t channel) {
  return static_cast<double>(list[list.size() == 1 ? 0 : static_cast<std::size_t>(channel)]);
}

/// What a byte more makes.
double real_step(const Case& c, std::int64_t channel) { return 1 / number(c.std, channel); }

double real(const Case& c, const Tensor& in, std::int64_t y, std::int64_t x, std::int64_t channel) {
  const std::int64_t from = c.bgr ? c.channels - 1 - channel : channel;
  return (byte(in, c.given_nchw, c.channels, y, x, from) - number(c.mean, channel)) /
         number(c.std, channel);
}

Graph formatted(const Graph& g, const Case& c) {
  ImageOptions numbers;
  numbers.mean = c.mean, numbers.std = c.std, numbers.bgr = c.bgr;
  return optimize(with_input_format(g, {c.given_nchw ? Layout::nchw : Layout::nhwc, true}, numbers),
                  {});
}

template <class Check>
void each_element(const Case& c, Check&& check) {
  for (std::int64_t y = 0; y < height; y++)
    for (std::int64_t x = 0; x < width; x++)
      for (std::int64_t channel = 0; channel < c.channels; channel++)
        check(y, x, channel,
              static_cast<std::size_t>(c.model_nchw ? (channel * height + y) * width + x
                                                    : (y * width + x) * c.channels + channel));
}

TEST(InputFormat, BytesBecomeTheModelsFloats) {
  std::mt19937 rng(seed());
  for (const Case& c : cases) {
    const std::string type = "f32" + dims(c.model_nchw, c.channels);
    const Graph g = formatted(parse("(x: " + type + ") { y = Neg(x) return y }"), c);
    EXPECT_EQ(g[g.inputs[0]].name, "x");
    EXPECT_EQ(g[g.inputs[0]].type.dtype, DType::u8);
    const Tensor in = pixels(c.channels, c.given_nchw, rng);
    const Tensor out = evaluate(g, std::vector{in})[0];
    each_element(c, [&](auto y, auto x, auto channel, std::size_t at) {
      EXPECT_NEAR(-static_cast<double>(out.values<float>()[at]), real(c, in, y, x, channel), 1e-4);
    });
  }
}

// Each code is the nearest, but for the mean's share of 1/254 of a pixel.
TEST(InputFormat, BytesBecomeTheNearestCodes) {
  std::mt19937 rng(seed());
  for (const Case& c : cases)
    for (const char* code : {"i8", "u8"}) {
      const double low = (0 - 127.5) / static_cast<double>(c.std[0]) * 1.1;
      const auto scale = static_cast<float>(-2 * low / 255);
      const std::string type = dims(c.model_nchw, c.channels);
      const Graph g = formatted(parse(str("(x: f32", type, ") { y: ", code, type, " q(", scale,
                                          ", 11) = longshore.Quantize(x) return y }")),
                                c);
      for (const Node& n : g.nodes) EXPECT_NE(n.op->quant, Quant::recode) << print(g);
      const Tensor in = pixels(c.channels, c.given_nchw, rng);
      const Tensor out = evaluate(g, std::vector{in})[0];
      const CodeRange range = code_range(out.dtype);
      each_element(c, [&](auto y, auto x, auto channel, std::size_t at) {
        const double exact = real(c, in, y, x, channel) / static_cast<double>(scale) + 11;
        const double step = real_step(c, channel) / static_cast<double>(scale);
        const double wanted = std::clamp<double>(exact, range.lowest, range.highest);
        const int got = load_code(out.view(), static_cast<std::int64_t>(at));
        EXPECT_LE(std::abs(got - wanted), 0.5 + step / 254 + 1e-4)
            << c.channels << " " << y << " " << x;
      });
    }
}

const char* const identity = R"((x: f32[1,3,7,6]) {
  q: i8[1,3,7,6] q(0.003921568859368563, -128) = longshore.Quantize(x)
  y: i8[1,2,7,6] q(0.05, 3) = Conv(q, i8[2,3,3,3] q(0.01, 0) {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,
    16,17,18,19,20,21,22,23,24,25,26,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15,-16,-17,-18,
    -19,-20,-21,-22,-23,-24,-25,-26,-27}, pads=[1,1,1,1]) return y })";

TEST(InputFormat, BytesThatAreTheCodesCostNothing) {
  const Graph before = parse(identity);
  const Graph g = with_input_format(before, {Layout::nhwc, true}, {});
  ASSERT_EQ(g.nodes.size(), 2U) << print(g);  // Transpose, Conv
  EXPECT_EQ(g[g.inputs[0]].type.quant.zero_point[0], 0);
  std::mt19937 rng(seed());
  const Tensor in = pixels(3, false, rng);
  std::vector<float> floats;
  for (std::int64_t c = 0; c < 3; c++)
    for (std::int64_t y = 0; y < height; y++)
      for (std::int64_t x = 0; x < width; x++)
        floats.push_back(static_cast<float>(byte(in, false, 3, y, x, c)) / 255);
  EXPECT_TRUE(evaluate(g, std::vector{in}) ==
              evaluate(before, std::vector{make_floats(Shape{1, 3, height, width}, floats)}));
}

TEST(InputFormat, WhoeverNeedsFloatsOrSignedCodesGetsThem) {
  // Two readers, one of floats; and codes that a table reads.
  for (const char* text :
       {R"((x: f32[1,3,7,6]) { q: i8[1,3,7,6] q(0.003921568859368563, -128) = longshore.Quantize(x)
           a: i8[1,3,7,6] q(0.003921568859368563, -128) = Relu(q) b = Neg(x) return a, b })",
        R"((x: f32[1,3,7,6]) { q: i8[1,3,7,6] q(0.003921568859368563, -128) = longshore.Quantize(x)
           a: i8[1,3,7,6] q(0.01, 0) = Sigmoid(q) return a })"}) {
    const Graph before = parse(text);
    const Graph g = with_input_format(before, {Layout::nchw, true}, {});
    std::mt19937 rng(seed());
    const Tensor in = pixels(3, true, rng);
    std::vector<float> floats;
    for (std::uint8_t b : in.values<std::uint8_t>()) floats.push_back(static_cast<float>(b) / 255);
    const auto got = evaluate(g, std::vector{in}),
               want = evaluate(before, std::vector{make_floats(in.shape, floats)});
    EXPECT_TRUE(got[0] == want[0]);
    for (std::size_t i = 0; got.size() > 1 && i < floats.size(); i++)
      EXPECT_NEAR(got[1].values<float>()[i], want[1].values<float>()[i], 1e-6);
  }
}

TEST(InputFormat, ALayoutAlone) {
  const Graph before = parse("(x: f32[1,3,7,6], s: f32[2]) { y = Neg(x) z = Neg(s) return y, z }");
  const Graph g = with_input_format(before, {Layout::nhwc, false}, {});
  EXPECT_EQ(print(g[g.inputs[0]].type), "f32[1, 7, 6, 3]");
  EXPECT_EQ(print(g[g.inputs[1]].type), "f32[2]");
  EXPECT_EQ(print(with_input_format(before, {}, {})), print(before));
}

TEST(InputFormat, SaysWhatIsWrong) {
  const auto refusal = [](const char* text, const ImageOptions& numbers) -> std::string {
    try {
      with_input_format(parse(text), {Layout::nhwc, true}, numbers);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  const char* const picture = "(x: f32[1,3,7,6]) { y = Neg(x) return y }";
  EXPECT_NE(refusal("(x: f32[1,12]) { y = Neg(x) return y }", {}).find("'x': f32[1, 12]"),
            std::string::npos);
  ImageOptions numbers;
  numbers.std = {0};
  EXPECT_NE(refusal(picture, numbers).find("above 0 expected, found 0"), std::string::npos);
  numbers = {};
  numbers.mean = {1, 2};
  EXPECT_NE(refusal(picture, numbers).find("each of 3 channels, found 2"), std::string::npos);
}

TEST(InputFormat, TheNpuReadsBytesAsTheyAre) {
  ImageOptions numbers;
  for (const float mean : {0.0f, 120.0f}) {
    numbers.mean = {mean};
    const Graph g = with_input_format(parse(identity), {Layout::nhwc, true}, numbers);
    for (const char* name : {"shore-1", "rk3588-like"})
      for (const std::uint32_t sram : {0u, 2048u}) {
        const plan::Plan p = expect_exact(g, load_target(name), sram, seed());
        for (const NodePlacement& n : p.placement.nodes) EXPECT_TRUE(n.on_npu()) << print(g);
      }
  }
}

}  // namespace
}  // namespace longshore::tests::input_format_test
