#include "quantize/lint.hpp"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.hpp"

namespace longshore {
namespace {

/// More say nothing new, and every pair of pictures is compared.
constexpr std::size_t most_samples = 1024;

/// All of `count` in an order that has nothing to do with how they lie: folders of classes, every
/// tenth of one class, frames of a film.
std::vector<std::size_t> shuffled(std::size_t count) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; i++) out[i] = i;
  std::mt19937_64 random(1);
  for (std::size_t i = count; i > 1; i--) std::swap(out[i - 1], out[random() % i]);
  return out;
}

std::uint64_t hash_of(const std::vector<Tensor>& inputs) {
  std::uint64_t hash = 0;
  for (const Tensor& t : inputs)
    hash = XXH3_64bits_withSeed(t.blob->bytes().data(), t.bytes(), hash);
  return hash;
}

/// Sets what is said of constants: of float inputs that could vary.
void note_constant(const std::vector<Tensor>& inputs, SampleFacts& f) {
  bool any = false;
  for (const Tensor& t : inputs) {
    if (t.dtype != DType::f32 || t.elements() < 2) continue;
    const auto x = t.values<float>();
    if (!any) f.value = static_cast<double>(x[0]);
    any = true;
    f.constant = std::ranges::all_of(x, [&](float v) { return v == x[0]; });
    if (!f.constant) return;
  }
}

/// The facts of each sample that can be read; `order` says which are looked at.
std::vector<SampleFacts> facts_of(const Graph& g, const Calibration& c,
                                  const std::vector<std::size_t>& order,
                                  std::optional<PictureInput>& picture) {
  std::vector<std::optional<SampleFacts>> facts(order.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto look = [&](std::size_t i) {
    std::vector<Tensor> inputs;
    try {
      inputs = c.sample(order[i]);
    } catch (const Error& e) {
      if (e.code() == Code::internal) throw;
      return;  // quantize lists it
    }
    SampleFacts& f = facts[i].emplace();
    f.sample = order[i];
    f.name = c.name ? c.name(order[i]) : str("sample ", order[i]);
    f.hash = hash_of(inputs);
    note_constant(inputs, f);
    if (const auto p = picture_input(g, inputs))
      f.picture = picture_facts(*p, inputs[p->input].values<float>().data());
    const std::lock_guard lock(mutex);
    if (failure || !c.progress) return;
    try {
      c.progress("looking at samples", ++done, order.size());
    } catch (...) {  // told while the lock is held, so that nobody calls it again
      failure = std::current_exception();
      next = order.size();
    }
  };
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < order.size(); i = next++) look(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = order.size();
    }
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < std::min(c.threads, static_cast<int>(order.size())); t++)
    others.emplace_back(work);
  work();
  others.clear();
  if (failure) std::rethrow_exception(failure);
  std::vector<SampleFacts> out;
  for (std::optional<SampleFacts>& f : facts)
    if (f) out.push_back(std::move(*f));
  if (!out.empty()) picture = picture_input(g, c.sample(out.front().sample));
  for (SampleFacts& f : out)  // where dims are open, grey ones beside coloured ones
    if (f.picture &&
        (!picture || static_cast<std::int64_t>(f.picture->channels.size()) != picture->channels))
      f.picture.reset();
  return out;
}

Likeness likeness_of(const std::vector<SampleFacts>& samples) {
  Likeness out;
  std::vector<float> all;
  for (std::size_t i = 0; i < samples.size(); i++) {
    std::pair<std::size_t, double> nearest{0, -1};
    for (std::size_t k = 0; k < i; k++) {
      if (!samples[i].picture || !samples[k].picture) continue;
      const double like =
          longshore::likeness(samples[i].picture->thumbnail, samples[k].picture->thumbnail);
      all.push_back(static_cast<float>(like));
      if (like > nearest.second) nearest = {k, like};
    }
    out.nearest.push_back(nearest);
  }
  if (all.empty()) return out;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  out.median = static_cast<double>(*middle);
  return out;
}

}  // namespace

std::string text(const Finding& f) { return str(f.what, " (", f.evidence, "); ", f.remedy); }

LintView lint_view(const Graph& imported, const Graph& optimised, const Calibration& c) {
  LintView out;
  std::vector<std::size_t> order = shuffled(c.count);
  order.resize(std::min(order.size(), most_samples));
  std::ranges::sort(order);  // what is wrong with a sample is said of the first
  out.samples = facts_of(optimised, c, order, out.input);
  std::vector<const PictureFacts*> pictures;
  for (const SampleFacts& s : out.samples)
    if (s.picture) pictures.push_back(&*s.picture);
  out.numbers = pixel_numbers(pictures);
  out.pictures = out.input && !pictures.empty() &&
                 (out.numbers.range != PixelRange::other || out.input->channels == 3);
  order.clear();
  for (const std::size_t i : shuffled(out.samples.size())) order.push_back(out.samples[i].sample);
  if (out.pictures) out.likeness = likeness_of(out.samples);
  if (!out.samples.empty())
    out.evidence = gather_evidence(imported, optimised, c, order,
                                   out.pictures ? out.input : std::nullopt, out.numbers);
  return out;
}

std::vector<Finding> findings(const LintView& view) {
  std::vector<Finding> out;
  for (const bool consequence : {false, true}) {
    if (consequence && !out.empty()) break;
    for (const LintCheck* check : checks::all()) {
      if (check->consequence != consequence) continue;
      if (std::optional<Finding> f = check->find(view)) {
        f->check = check->name;
        out.push_back(std::move(*f));
      }
    }
  }
  return out;
}

std::vector<Finding> lint(const Graph& imported, const Graph& optimised, const Calibration& c) {
  return findings(lint_view(imported, optimised, c));
}

}  // namespace longshore
