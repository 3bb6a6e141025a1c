// The checks of calibration samples, each with samples made for it, and what they rest on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "compile/compile.hpp"
#include "quantize/lint.hpp"

namespace longshore::tests::lint_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* grey_net = "(x: f32[1,1,16,16]) { y = Relu(x) return y }";
constexpr const char* colour_net = "(x: f32[1,3,16,16]) { y = Relu(x) return y }";

Tensor picture(std::vector<float> pixels, std::int64_t channels = 1, std::int64_t side = 16) {
  return make_floats(Shape{1, channels, side, side}, pixels);
}

/// Rectangles of random grey with hard edges, in 0..1; the channels are scaled alike.
Tensor boxes(std::uint64_t seed, std::int64_t channels = 1) {
  std::mt19937_64 rng(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(rng() % n); };
  std::vector<float> plane(256, 0.5f), out;
  for (int box = 0; box < 6; box++) {
    const std::int64_t top = below(16), left = below(16), height = 1 + below(8),
                       width = 1 + below(8);
    const float grey = static_cast<float>(below(256)) / 255;
    for (std::int64_t y = top; y < std::min<std::int64_t>(top + height, 16); y++)
      for (std::int64_t x = left; x < std::min<std::int64_t>(left + width, 16); x++)
        plane[static_cast<std::size_t>(y * 16 + x)] = grey;
  }
  for (std::int64_t c = 0; c < channels; c++)
    for (const float v : plane) out.push_back(v * (1 - 0.2f * static_cast<float>(c)));
  return picture(out, channels);
}

/// Names of the checks that find something.
std::vector<std::string> found(const char* net, std::vector<Tensor> samples) {
  std::vector<std::vector<Tensor>> inputs;
  for (Tensor& t : samples) inputs.push_back({std::move(t)});
  const Graph g = parse(net);
  std::vector<std::string> out;
  for (const Finding& f : lint(g, g, calibration_from(std::move(inputs)))) out.push_back(f.check);
  return out;
}

template <class Make>
std::vector<Tensor> many(std::size_t count, Make&& make) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < count; i++) out.push_back(make(i));
  return out;
}

TEST(Lint, EveryCheckHasDocumentation) {
  for (const LintCheck* c : checks::all()) EXPECT_FALSE(c->name.empty() || c->doc.empty());
}

TEST(Lint, IsSilentOnSharpDifferentPictures) {
  EXPECT_THAT(found(grey_net, many(20, [](std::size_t i) { return boxes(i); })), IsEmpty());
  EXPECT_THAT(found(colour_net, many(20, [](std::size_t i) { return boxes(i, 3); })), IsEmpty());
}

TEST(Lint, FindsFewSamples) {
  EXPECT_THAT(found(grey_net, many(15, [](std::size_t i) { return boxes(i); })),
              ElementsAre("few_samples"));
}

TEST(Lint, FindsCopiesFromAFifthOn) {
  const auto copies = [](std::size_t unlike) {
    return many(20, [&](std::size_t i) { return boxes(i < unlike ? i : 0); });
  };
  EXPECT_THAT(found(grey_net, copies(17)), IsEmpty());  // 3 of 20
  EXPECT_THAT(found(grey_net, copies(16)), ElementsAre("duplicates"));
}

TEST(Lint, FindsCopiesThatWereMadeBrighter) {
  const auto samples = many(20, [](std::size_t i) {
    const Tensor t = boxes(i / 2);
    std::vector<float> out(t.values<float>().begin(), t.values<float>().end());
    for (float& v : out) v *= i % 2 ? 0.9f : 1.0f;
    return picture(out);
  });
  EXPECT_THAT(found(grey_net, samples), ElementsAre("duplicates"));
}

TEST(Lint, AllTheSameIsAnErrorWhateverTheInput) {
  const Graph g = parse("(x: f32[4]) { y = Relu(x) return y }");
  const std::vector<std::vector<Tensor>> samples(
      20, {make_floats(Shape{4}, std::vector<float>{1, 2, 3, 4})});
  const std::vector<Finding> f = lint(g, g, calibration_from(samples));
  ASSERT_EQ(f.size(), 1u);
  EXPECT_TRUE(f[0].error);
  EXPECT_EQ(f[0].check, "duplicates");
}

TEST(Lint, ConstantSamplesAreAnError) {
  const Graph g = parse(grey_net);
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 20; i++)
    samples.push_back({picture(std::vector<float>(256, static_cast<float>(i)))});
  const std::vector<Finding> f = lint(g, g, calibration_from(samples));
  ASSERT_EQ(f.size(), 1u);
  EXPECT_EQ(f[0].check, "constant");
  EXPECT_TRUE(f[0].error);
}

TEST(Lint, AConstantInputBesideOneThatVariesIsNone) {
  const Graph g = parse("(x: f32[4], state: f32[2], n: i64[3]) { y = Relu(x) return y, state, n }");
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 20; i++)
    samples.push_back({make_floats(Shape{4}, std::vector<float>{1, 2, 3, static_cast<float>(i)}),
                       make_floats(Shape{2}, std::vector<float>{0, 0}),
                       make_ints(std::vector<std::int64_t>{1, 1, 1})});
  EXPECT_THAT(lint(g, g, calibration_from(samples)), IsEmpty());
}

TEST(Lint, IntegersAreNoPictures) {
  const Graph g = parse("(x: i64[1,1,16,16]) { y = Cast(x, to=1) return y }");
  std::mt19937_64 rng(1);
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 20; i++) {
    std::vector<std::int64_t> ids;
    for (int k = 0; k < 256; k++) ids.push_back(static_cast<std::int64_t>(rng() % 256));
    samples.push_back({make_tensor<std::int64_t>(DType::i64, Shape{1, 1, 16, 16},
                                                 std::span<const std::int64_t>(ids))});
  }
  EXPECT_THAT(lint(g, g, calibration_from(samples)), IsEmpty());
}

TEST(Lint, FindsNoise) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<float> uniform;
  EXPECT_THAT(found(colour_net, many(20,
                                     [&](std::size_t) {
                                       std::vector<float> out(768);
                                       for (float& v : out) v = uniform(rng);
                                       return picture(out, 3);
                                     })),
              ElementsAre("noise"));
}

TEST(Lint, FindsBlur) {
  const auto samples = many(20, [](std::size_t i) {
    const Tensor t = boxes(i);
    const auto in = t.values<float>();
    std::vector<float> out(256);
    for (int y = 0; y < 16; y++)
      for (int x = 0; x < 16; x++) {
        float sum = 0;
        for (int dy = -2; dy <= 2; dy++)
          for (int dx = -2; dx <= 2; dx++)
            sum += in[static_cast<std::size_t>(std::clamp(y + dy, 0, 15) * 16 +
                                               std::clamp(x + dx, 0, 15))];
        out[static_cast<std::size_t>(y * 16 + x)] = sum / 25;
      }
    return picture(out);
  });
  EXPECT_THAT(found(grey_net, samples), ElementsAre("blur"));
}

TEST(Lint, FindsChannelsAtTheWrongEnd) {
  const auto samples = many(20, [](std::size_t i) {
    const Tensor t = boxes(i, 3);
    std::vector<float> out;
    for (std::size_t p = 0; p < 256; p++)
      for (std::size_t c = 0; c < 3; c++) out.push_back(t.values<float>()[c * 256 + p]);
    return picture(out, 3);
  });
  EXPECT_THAT(found(colour_net, samples), ElementsAre("layout"));
}

/// Says that x had a mean of 0.5 and a variance of 0.04 in training, about what boxes have.
constexpr const char* norm_net = R"((x: f32[1,1,16,16]) {
  a = Identity(x)
  n = BatchNormalization(a, f32[1]{1}, f32[1]{0}, f32[1]{0.5}, f32[1]{0.04})
  r = Relu(n)  s = Relu(r)  t = Relu(s)  u = Relu(t)  y = Relu(u) return y })";

TEST(Lint, NormalisationsTellTheRange) {
  const auto times = [](float factor) {
    return many(20, [&](std::size_t i) {
      const Tensor t = boxes(i);
      std::vector<float> out(t.values<float>().begin(), t.values<float>().end());
      for (float& v : out) v *= factor;
      return picture(out);
    });
  };
  EXPECT_THAT(found(norm_net, times(1)), IsEmpty());
  const Graph g = parse(norm_net);
  std::vector<std::vector<Tensor>> samples;
  for (Tensor& t : times(255)) samples.push_back({std::move(t)});
  const std::vector<Finding> f = lint(g, g, calibration_from(samples));
  ASSERT_EQ(f.size(), 1u);
  EXPECT_EQ(f[0].check, "preprocessing");
  EXPECT_THAT(f[0].what, HasSubstr("0..255, and the model seems to want 0..1"));
  EXPECT_THAT(f[0].remedy, HasSubstr("--mean 0 --std 255"));
}

TEST(Lint, NormalisationsThatNothingExplainsAreAnotherDomain) {
  EXPECT_THAT(found(R"((x: f32[1,1,16,16]) {
    a = Identity(x)
    n = BatchNormalization(a, f32[1]{1}, f32[1]{0}, f32[1]{-50}, f32[1]{0.04})
    r = Relu(n)  s = Relu(r)  t = Relu(s)  u = Relu(t)  y = Relu(u) return y })",
                    many(20, [](std::size_t i) { return boxes(i); })),
              ElementsAre("other_domain"));
}

TEST(Lint, FindsOneClass) {
  // Class 1 whatever comes.
  EXPECT_THAT(found(R"((x: f32[1,1,16,16]) { m = GlobalAveragePool(x) f = Flatten(m)
                      g = Mul(f, f32[1,3]{0, 0.1, 0}) y = Add(g, f32[1,3]{0, 9, 0}) return y })",
                    many(20, [](std::size_t i) { return boxes(i); })),
              ElementsAre("one_class"));
}

TEST(Lint, AgreementIsMutualInformation) {
  Answers sure;  // two classes, half of the samples each, every answer holds: ln 2
  sure.as_is = sure.moved = {{1, 0}, {0, 1}, {1, 0}, {0, 1}};
  EXPECT_NEAR(agreement(sure), std::log(2), 1e-9);
  Answers one = sure;  // all answers alike tell nothing
  one.as_is = one.moved = {{1, 0}, {1, 0}, {1, 0}, {1, 0}};
  EXPECT_NEAR(agreement(one), 0, 1e-9);
  Answers loose = sure;  // the second is independent of the first
  loose.moved = {{1, 0}, {0, 1}, {0, 1}, {1, 0}};
  EXPECT_NEAR(agreement(loose), 0, 1e-9);
  EXPECT_NEAR(gain(loose, sure).nats, std::log(2), 1e-9);
  Answers half = sure;  // the mean of both poses
  half.mirrored = loose.moved;
  EXPECT_NEAR(agreement(half), std::log(2) / 2, 1e-9);
}

TEST(Lint, PixelsOfARampAndOfNoOrder) {
  PictureInput p{.channels = 1, .height = 16, .width = 16};
  std::vector<float> ramp;
  for (int y = 0; y < 16; y++)
    for (int x = 0; x < 16; x++) ramp.push_back(static_cast<float>(x + y));
  const PictureFacts f = picture_facts(p, ramp.data());
  EXPECT_NEAR(f.sharpness, 0.25, 1e-9);  // 1 / 2^2
  EXPECT_NEAR(f.channels[0].mean, 15, 1e-9);
  EXPECT_NEAR(f.channels[0].deviation, std::sqrt(2 * 255.0 / 12), 1e-9);  // (n^2 - 1) / 12 twice
  EXPECT_NEAR(f.roughness, 2 / (4 * 2 * 255.0 / 12), 1e-9);
  EXPECT_NEAR(likeness(f.thumbnail, f.thumbnail), 1, 1e-5);
  std::vector<float> board;
  for (int i = 0; i < 256; i++) board.push_back(static_cast<float>((i / 16 + i) % 2));
  EXPECT_NEAR(picture_facts(p, board.data()).roughness, 2, 1e-9);  // neighbours always differ
}

TEST(Lint, ChangesPixels) {
  const PictureInput p{.channels = 3, .height = 8, .width = 8};
  std::vector<float> pixels(192);
  for (std::size_t i = 0; i < pixels.size(); i++) pixels[i] = static_cast<float>(i);
  const Tensor t = make_floats(Shape{1, 3, 8, 8}, pixels);
  Hypothesis h{.scale = {2, 2, 2}, .offset = {1, 1, 1}, .swap = true};
  EXPECT_EQ(changed(t, p, &h).values<float>()[0], 2 * 128 + 1);
  const Tensor posed = changed(t, p, nullptr, {.step = 1, .mirrored = true});
  // Row 1 comes from row 0; column 0 is column 7 mirrored, one further left.
  EXPECT_EQ(posed.values<float>()[8], 6);
  EXPECT_EQ(posed.values<float>()[7], 0);  // the edge repeated
}

TEST(Lint, TheSameOnAnyNumberOfThreads) {
  const Graph g = parse(norm_net);
  std::vector<std::string> texts;
  for (const int threads : {1, 3}) {
    Calibration c;
    c.count = 20;
    c.threads = threads;
    c.sample = [](std::size_t i) { return std::vector<Tensor>{boxes(i / 2)}; };
    texts.push_back("");
    for (const Finding& f : lint(g, g, c)) texts.back() += text(f) + "\n";
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_THAT(texts[0], HasSubstr("10 repeat another one"));
}

TEST(Lint, CompileStopsAtAnErrorUnlessTurnedOff) {
  compile::Options o;
  o.model.emplace();
  o.model->graph = parse(grey_net);
  o.last = compile::Stage::quantise;
  o.quantise = compile::Quantise::always;
  o.samples = [](const Graph&) {
    compile::Samples s;
    s.count = 20;
    s.get = [](std::size_t) { return std::vector<Tensor>{boxes(1)}; };
    return s;
  };
  try {
    compile::compile(o);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("all calibration samples are the same"));
    EXPECT_THAT(e.what(), HasSubstr("--no-lint"));
  }
  o.lint = false;
  EXPECT_THAT(compile::compile(o).findings, IsEmpty());
}

}  // namespace
}  // namespace longshore::tests::lint_test
