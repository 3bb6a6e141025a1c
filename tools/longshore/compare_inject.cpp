#include "compare_inject.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "measure/change.hpp"
#include "other_weights.hpp"
#include "progress.hpp"
#include "sim/verify.hpp"

namespace longshore {
namespace {

/// Samples that an injected change gets beyond those that were asked for.
constexpr std::size_t patience = 12;
/// Where these show nothing: nets with other weights, and samples of each. Where bytes go shows in
/// any net or in none. How they are computed may show seldom: a rounding differs in ties alone.
constexpr std::uint64_t nets_for_places = 8, nets_for_numbers = 100;
constexpr std::size_t samples_of_a_net = 3;

bool is_place(Role role) {
  return role == Role::address || role == Role::stride || role == Role::extent;
}

/// A clamp at the end of the 16-bit codes, moved by less than a code of 8 bits: values that
/// saturate alone show it, and behind a ReLU none does at the lower end.
bool is_end_of_codes(const Injection& c) {
  const bool end = (c.field == "lowest" && c.before == "-32768") ||
                   (c.field == "highest" && c.before == "32767");
  return end && std::abs(std::stoll(c.after) - std::stoll(c.before)) < 256;
}

/// Where the tap variant has what stands at `place` in the shipped program.
Place place_in_tapped(const lower::Tapped& tapped, Place place) {
  const auto& queue = tapped.program.queues[static_cast<int>(place.queue)];
  std::size_t left = place.index;
  for (std::size_t i = 0; i < queue.size(); i++)
    if (!lower::is_tap(tapped, queue[i]) && left-- == 0) return {place.queue, i};
  fail(Code::internal, "the tap variant lacks an instruction of the shipped program");
}

Program with_change(const Program& p, Place place, const Operation& operation) {
  Program out = p;
  out.queues[static_cast<int>(place.queue)][place.index].operation = operation;
  return out;
}

/// One net, its programs changed, against the reference.
struct Trial {
  CompareReport report;
  ChangeEffect effect;
  std::string stopped;  // what the simulator says that cannot compute it
};

/// `most` samples are looked at until one differs, but not fewer than `least`.
Trial try_change(const ComparedBundle& b, const Injection& change, std::size_t least,
                 std::size_t most, const SampleSource& sample, std::uint64_t seed) {
  const Place place{change.queue, change.index};
  const Operation& operation =
      change.program.queues[static_cast<int>(place.queue)][place.index].operation;
  const Place at = place_in_tapped(*b.tapped, place);
  const Program shipped = with_change(b.program, place, operation),
                tapped = with_change(b.tapped->program, at, operation);
  Trial out;
  std::vector<std::vector<Tensor>> tried;
  try {
    BundleComparison comparison(b, shipped, tapped);
    for (std::size_t i = 0; i < most && (i < least || !comparison.report().differs()); i++) {
      tried.push_back(sample(i));
      comparison.add(tried.back());
    }
    out.report = comparison.report();
  } catch (const Error& e) {
    if (e.code() == Code::internal) throw;
    out.stopped = e.what();
    return out;
  }
  ReferenceHost host(b.tapped->program, b.graph), changed_host(tapped, b.graph);
  for (std::size_t i = 0; i < tried.size(); i++) {
    host.start(tried[i]);
    changed_host.start(tried[i]);
    const Result<ChangeEffect> one =
        effect_of_change(b.tapped->program, tapped, at, host, changed_host, seed + i);
    if (one.status().code() == Code::internal) require(one.status(), change.text);
    if (!one.ok()) {
      out.stopped = one.status().text();
      return out;
    }
    merge(out.effect, *one);
  }
  return out;
}

/// True where the trial settles it: the change stops the simulator or shows in a layer.
bool shows(const Trial& trial, bool other_weights, InjectReport& r) {
  const std::string where = other_weights ? "with other weights, " : "";
  r.comparison = trial.report;
  r.other_weights = other_weights;
  if (!trial.stopped.empty()) {
    r.verdict = "stopped";
    r.why = where + trial.stopped;
  } else if (trial.report.differs()) {
    r.verdict = "different";
    r.why = where + describe(*total(trial.report.layers).first);
  }
  return !r.verdict.empty();
}

/// Fills in verdict and reason of a change that the verifier lets pass; gives its effect.
ChangeEffect decide(const ComparedBundle& b, std::uint64_t seed, std::size_t samples,
                    const SampleSource& sample, InjectReport& r) {
  using enum Judgement::Verdict;
  const bool control = is_control(
      r.change.program.queues[static_cast<int>(r.change.queue)][r.change.index].operation);
  const Trial own =
      try_change(b, r.change, samples, control ? samples : samples + patience, sample, seed);
  if (shows(own, false, r)) return own.effect;
  Judgement j = judge(own.effect, b.program);
  ChangeEffect effect = own.effect;
  const std::uint64_t most = is_place(r.change.role) ? nets_for_places : nets_for_numbers;
  std::uint64_t nets = 0;
  Progress progress("trying other weights");
  for (; nets < most && j.verdict == unnoticed; nets++) {
    const std::optional<ComparedBundle> other = with_other_weights(b, seed + nets);
    if (!other) break;
    const Trial trial = try_change(*other, r.change, 1, samples_of_a_net, sample, seed + nets);
    merge(effect, trial.effect);
    if (shows(trial, true, r)) return effect;
    progress.update(nets + 1, most);
  }
  if (nets == nets_for_places && is_place(r.change.role) && effect.changed_bytes == 0)
    j = {not_shown, str("with ", nets,
                        " random draws of all weights, the instruction writes the same bytes in "
                        "this place; this is no proof")};
  if (nets == nets_for_numbers && is_end_of_codes(r.change) && effect.changed_bytes == 0)
    j = {not_shown, str("with ", nets,
                        " random draws of all weights, no code reaches the clamp; this is no "
                        "proof")};
  r.comparison = own.report;
  r.other_weights = false;
  r.verdict = j.verdict == timing_only ? "timing-only"
              : j.verdict == dead      ? "dead"
              : j.verdict == not_shown ? "not shown"
                                       : "unnoticed";
  r.why = j.why;
  return effect;
}

}  // namespace

std::string InjectReport::instruction() const { return change.instruction; }

std::string InjectReport::operation() const {
  return name(change.program.queues[static_cast<int>(change.queue)][change.index].operation);
}

InjectReport compare_injected(const ComparedBundle& b, std::uint64_t seed, std::size_t samples,
                              const SampleSource& sample) {
  std::optional<Injection> drawn = inject(b.program, seed);
  if (!drawn)
    fail(Code::bad_argument, b.file,
         ": there is no NPU instruction whose operand could be changed");
  InjectReport r{.change = std::move(*drawn)};
  const std::uint32_t layer =
      r.change.program.queues[static_cast<int>(r.change.queue)][r.change.index].layer;
  if (layer != no_index) r.layers = b.nodes_of(layer);
  if (const std::vector<Refusal> refusals = verify(r.change.program, 1); !refusals.empty()) {
    r.verdict = "refused by the verifier";
    r.why = refusals.front().text;
    return r;
  }
  for (const std::uint32_t reader : decide(b, seed, samples, sample, r).readers)
    for (std::string& name : b.nodes_of(reader))
      if (std::ranges::find(r.readers, name) == r.readers.end())
        r.readers.push_back(std::move(name));
  return r;
}

}  // namespace longshore
