#include "measure/accuracy.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "ir/graph.hpp"

namespace longshore {
namespace {

/// The class with the largest score; of equal ones the lowest, NaN never.
int best(const Tensor& t) {
  const auto x = t.values<float>();
  std::size_t at = 0;
  for (std::size_t i = 1; i < x.size(); i++)
    if (x[i] > x[at] || std::isnan(x[at])) at = i;
  return static_cast<int>(at);
}

bool is_row(const Tensor& t) {
  return std::ranges::count_if(t.shape, [](std::int64_t d) { return d != 1; }) == 1 &&
         t.elements() > 1;
}

/// What is counted of one sample. Sums of squares are added in the order of the samples, so that
/// the result does not depend on threads.
struct Sample {
  bool scores = false, right = false, reference_right = false, agrees = false;
  double signal = 0, noise = 0;
};

Sample judge(const Dataset& data, std::size_t i, const Tensor& x, const Tensor& y,
             const Tensor* want) {
  const auto found = [&] { return str("output 0 is ", print(TensorType(y.dtype, y.shape))); };
  Sample s;
  s.scores = y.dtype == DType::f32 && is_row(y) && (data.label || !(y.shape == x.shape));
  if (data.label && !s.scores)
    fail(Code::bad_argument, "labels need a classifier: ", found(),
         ", expected f32 scores of the classes");
  if (y.dtype != DType::f32) fail(Code::bad_argument, found(), ", expected f32");
  if (want && want->elements() != y.elements())
    fail(Code::bad_argument, data.sample_name(i), ": ", found(), ", the reference has ",
         want->elements(), " elements");
  if (data.label) {
    check_classes(data, static_cast<std::size_t>(y.elements()));
    s.right = best(y) == data.label(i);
    s.reference_right = want && best(*want) == data.label(i);
  }
  if (!want) return s;
  s.agrees = s.scores && best(*want) == best(y);
  const auto a = want->values<float>(), b = y.values<float>();
  for (std::size_t k = 0; k < a.size(); k++) {
    const double w = a[k], d = w - b[k];
    s.signal += w * w;
    s.noise += d * d;
  }
  return s;
}

}  // namespace

double Accuracy::sqnr_db() const {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

Accuracy measure_accuracy(const Dataset& data, const AccuracyRequest& request) {
  const std::size_t count = request.picked.size();
  std::vector<Sample> samples(count);
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      const Answer model = request.model(),
                   reference = request.reference ? request.reference() : Answer{};
      for (std::size_t k = next++; k < count; k = next++) {
        const std::size_t i = request.picked[k];
        const Tensor x = data.input(i, request.input), y = model(i, x);
        const Tensor want = reference ? reference(i, x) : Tensor{};
        samples[k] = judge(data, i, x, y, reference ? &want : nullptr);
        const std::lock_guard lock(mutex);
        done++;
        if (request.progress) request.progress(done, count);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < request.threads; t++) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  Accuracy out;
  out.samples = count;
  out.scores = count > 0;
  for (const Sample& s : samples) {
    out.scores &= s.scores;
    out.right += s.right;
    out.reference_right += s.reference_right;
    out.agrees += s.agrees;
    out.only_reference_right += s.reference_right && !s.right;
    out.only_model_right += s.right && !s.reference_right;
    out.signal += s.signal;
    out.noise += s.noise;
  }
  return out;
}

}  // namespace longshore
