// Answers to samples that are counted by hand.
#include "measure/accuracy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace longshore::tests::accuracy_test {
namespace {

/// Sample i is the number i, its label one of `labels` (none: there are no labels).
Dataset samples(std::size_t count, const std::vector<int>& labels) {
  Dataset d;
  d.name = "numbers";
  d.count = count;
  d.input = [](std::size_t i, const TensorType&) {
    return make_floats({1, 2}, std::vector<float>{static_cast<float>(i), 0});
  };
  if (!labels.empty()) {
    d.classes = 3;
    d.label = [labels](std::size_t i) { return labels[i]; };
  }
  d.sample_name = [](std::size_t i) { return "number " + std::to_string(i); };
  return d;
}

/// Scores of three classes, the best of which is answers[i].
std::function<Answer()> scores(const std::vector<int>& answers, const Shape& shape = {1, 3}) {
  return [=] {
    return [=](std::size_t i, const Tensor& x) {
      EXPECT_EQ(x.values<float>()[0], static_cast<float>(i));
      std::vector<float> out(static_cast<std::size_t>(shape.elements()), 1);
      out[static_cast<std::size_t>(answers[i])] = 2;
      return make_floats(shape, out);
    };
  };
}

AccuracyRequest all_of(const Dataset& d) {
  AccuracyRequest r;
  r.picked = pick_samples(d.count, d.count);
  return r;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(MeasureAccuracy, CountsWhoIsRight) {
  const Dataset d = samples(6, {0, 1, 2, 0, 1, 2});
  for (int threads : {1, 3}) {
    AccuracyRequest r = all_of(d);
    r.model = scores({0, 1, 2, 2, 0, 0});      // right in samples 0, 1, 2
    r.reference = scores({0, 1, 0, 0, 1, 0});  // right in samples 0, 1, 3, 4
    r.threads = threads;
    const Accuracy a = measure_accuracy(d, r);
    EXPECT_EQ(a.samples, 6u);
    EXPECT_TRUE(a.scores);
    EXPECT_EQ(a.right, 3u);
    EXPECT_EQ(a.reference_right, 4u);
    EXPECT_EQ(a.agrees, 3u);  // samples 0, 1, 5
    EXPECT_EQ(a.only_reference_right, 2u);
    EXPECT_EQ(a.only_model_right, 1u);
    // Each row of scores is 1, 1, 2: 6 in squares; of three samples two numbers are off by 1.
    EXPECT_EQ(a.signal, 36);
    EXPECT_EQ(a.noise, 6);
    EXPECT_DOUBLE_EQ(a.sqnr_db(), 10 * std::log10(6));
    EXPECT_DOUBLE_EQ(a.difference().points, -100.0 / 6);
  }
}

TEST(MeasureAccuracy, OfPickedSamples) {
  const Dataset d = samples(6, {0, 1, 2, 0, 1, 2});
  AccuracyRequest r;
  r.picked = {1, 4};
  r.model = scores({2, 1, 0, 2, 0, 0});
  const Accuracy a = measure_accuracy(d, r);
  EXPECT_EQ(a.samples, 2u);
  EXPECT_EQ(a.right, 1u);
  EXPECT_EQ(a.agrees, 0u);
}

TEST(MeasureAccuracy, WithoutLabelsWhatHasTheInputsDimsIsNoScores) {
  const Dataset d = samples(3, {});
  AccuracyRequest r = all_of(d);
  r.model = r.reference = scores({0, 1, 1});
  EXPECT_TRUE(measure_accuracy(d, r).scores);
  EXPECT_EQ(measure_accuracy(d, r).agrees, 3u);
  EXPECT_TRUE(std::isinf(measure_accuracy(d, r).sqnr_db()));
  r.model = r.reference = scores({0, 1, 1}, {1, 2});
  EXPECT_FALSE(measure_accuracy(d, r).scores);
  EXPECT_EQ(measure_accuracy(d, r).agrees, 0u);
  r.model = r.reference = scores({0, 1, 1}, {1, 2, 3});
  EXPECT_FALSE(measure_accuracy(d, r).scores);
}

TEST(MeasureAccuracy, RefusesWhatCannotBeHeldAgainstEachOther) {
  const Dataset d = samples(3, {0, 1, 2}), bare = samples(3, {});
  AccuracyRequest r = all_of(d);
  r.model = scores({0, 1, 1}, {1, 2});
  EXPECT_THAT(message_of([&] { measure_accuracy(d, r); }),
              testing::HasSubstr("labels go up to 2, the model has 2 scores"));
  r.model = scores({0, 1, 1}, {1, 2, 3});
  EXPECT_THAT(message_of([&] { measure_accuracy(d, r); }),
              testing::HasSubstr("labels need a classifier: output 0 is f32[1, 2, 3]"));
  r.reference = scores({0, 1, 1}, {1, 5});
  EXPECT_THAT(message_of([&] { measure_accuracy(bare, r); }),
              testing::HasSubstr("number 0: output 0 is f32[1, 2, 3], the reference has 5"));
  r.model = [] { return [](std::size_t, const Tensor&) { return make_int(1); }; };
  EXPECT_THAT(message_of([&] { measure_accuracy(bare, r); }), testing::HasSubstr("expected f32"));
}

}  // namespace
}  // namespace longshore::tests::accuracy_test
