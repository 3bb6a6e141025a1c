#include <algorithm>
#include <cmath>
#include <numeric>

#include "quantize/evidence.hpp"

namespace longshore {
namespace {

/// The likeliest classes count one by one and the others as one, so that 1000 classes cost no more.
constexpr std::size_t most_classes = 64;

/// The answers over the classes that matter, `kept`, and the rest as one.
std::vector<double> lumped(const std::vector<float>& p, const std::vector<std::size_t>& kept) {
  std::vector<double> out;
  double rest = 1;
  for (const std::size_t k : kept) out.push_back(static_cast<double>(p[k])), rest -= out.back();
  out.push_back(std::max(rest, 0.0));
  return out;
}

/// The likeliest classes of some answers, in order.
std::vector<std::size_t> likeliest(const Probabilities& answers) {
  std::vector<double> mean(answers.front().size());
  for (const auto& p : answers)
    for (std::size_t k = 0; k < p.size(); k++) mean[k] += static_cast<double>(p[k]);
  std::vector<std::size_t> out(mean.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::stable_sort(out, [&](std::size_t i, std::size_t j) { return mean[i] > mean[j]; });
  out.resize(std::min(out.size(), most_classes));
  return out;
}

/// How often which two answers come together; one sample can be left out again.
class Together {
 public:
  Together(const Probabilities& a, const Probabilities& b) {
    if (a.empty() || a.size() != b.size()) return;
    const std::vector<std::size_t> kept = likeliest(a);
    classes_ = kept.size() + 1;
    joint_.resize(classes_ * classes_);
    for (std::size_t i = 0; i < a.size(); i++) {
      pairs_.emplace_back(lumped(a[i], kept), lumped(b[i], kept));
      add(i, joint_, 1);
    }
  }
  std::size_t size() const { return pairs_.size(); }
  double information() const { return information(joint_); }
  double information_without(std::size_t i) const {
    std::vector<double> joint = joint_;
    add(i, joint, -1);
    return information(joint);
  }

 private:
  /// Either of a pair may come first.
  void add(std::size_t i, std::vector<double>& joint, double sign) const {
    const auto& [p, q] = pairs_[i];
    for (std::size_t r = 0; r < classes_; r++)
      for (std::size_t c = 0; c < classes_; c++)
        joint[r * classes_ + c] += sign * (p[r] * q[c] + q[r] * p[c]) / 2;
  }
  double information(const std::vector<double>& joint) const {
    const double all = std::accumulate(joint.begin(), joint.end(), 0.0);
    if (!(all > 0)) return 0;
    std::vector<double> row(classes_);
    for (std::size_t i = 0; i < joint.size(); i++) row[i / classes_] += joint[i] / all;
    double out = 0;
    for (std::size_t i = 0; i < joint.size(); i++)
      if (const double j = joint[i] / all; j > 1e-12)
        out += j * std::log(j / (row[i / classes_] * row[i % classes_]));
    return out;
  }

  std::size_t classes_ = 0;
  std::vector<std::pair<std::vector<double>, std::vector<double>>> pairs_;
  std::vector<double> joint_;
};

}  // namespace

double agreement(const Answers& a) {
  const double moved = Together(a.as_is, a.moved).information();
  return a.mirrored.empty() ? moved : (moved + Together(a.as_is, a.mirrored).information()) / 2;
}

Gain gain(const Answers& a, const Answers& b) {
  const Together before_moved(a.as_is, a.moved), after_moved(b.as_is, b.moved),
      before_mirrored(a.as_is, a.mirrored), after_mirrored(b.as_is, b.mirrored);
  Gain out;
  out.nats = agreement(b) - agreement(a);
  const double parts = before_mirrored.size() > 0 ? 2 : 1;
  const std::size_t n = std::min(before_moved.size(), after_moved.size());
  std::vector<double> without;
  for (std::size_t i = 0; i < n; i++) {
    double gained = after_moved.information_without(i) - before_moved.information_without(i);
    if (before_mirrored.size() > 0)
      gained += after_mirrored.information_without(i) - before_mirrored.information_without(i);
    without.push_back(gained / parts);
  }
  if (n == 0) return out;
  const auto count = static_cast<double>(n);
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / count;
  double squares = 0;
  for (const double w : without) squares += (w - mean) * (w - mean);
  out.error = std::sqrt(squares * (count - 1) / count);
  return out;
}

}  // namespace longshore
