#include "suggestions.hpp"

#include <ostream>

#include <fmt/format.h>

#include "build_report.hpp"
#include "say.hpp"

namespace longshore {
namespace {

using compile::Fallback;
using compile::Suggestion;

double us_of(const Suggestion& s) {
  double us = 0;
  for (const Fallback& f : s.nodes) us += f.us;
  return us;
}

/// Why there is no change, where there is none.
std::string why_none(const compile::Compiled& c, const Suggestion& s) {
  const Fallback& f = s.nodes.front();
  switch (f.kind) {
    case Fallback::Kind::follows: {
      for (const Reason& r : f.reasons)
        if (r.wanted.kind == Wanted::Kind::codes)
          return str("none of its own: it goes with '", r.wanted.what, "'");
      return "none of its own";
    }
    case Fallback::Kind::price:
      return "none: nothing keeps it but its price (--force takes it to the NPU)";
    case Fallback::Kind::border:
      return "none: the model's border";
    case Fallback::Kind::limit:
      break;
  }
  if (c.was_quantised) return "none known: the model came quantised";
  return f.reasons.empty() || f.reasons.front().change.empty()
             ? "none known"
             : str("none that is made here: ", f.reasons.front().change);
}

/// "exact", or what becomes of the answers.
std::string meaning(const ChangeDef& change) {
  if (change.exact) return change.answers.empty() ? "exact" : str("exact, but ", change.answers);
  return str("changes the answers: ", change.answers);
}

void show(std::ostream& out, const compile::Compiled& c, const Suggestion& s) {
  const Placement& p = c.plan.placement;
  const Node& first = p.graph.nodes[s.nodes.front().node];
  out << fmt::format("\n{:>4} {:<27} {:<32} {:>8.1f} us\n", s.nodes.size(),
                     short_name(qualified_name(*first.op), 27),
                     short_name(first.origin.name + (s.nodes.size() > 1 ? " ..." : ""), 32),
                     us_of(s));
  for (const Reason& r : s.nodes.front().reasons)
    out << "      " << wrapped(r.text + (r.where.empty() ? "" : " (" + r.where + ")"), 6, 8)
        << "\n";
  if (!s.change) {
    out << "      change: " << wrapped(why_none(c, s), 14, 8) << "\n";
    return;
  }
  out << "      change: "
      << wrapped(str(name_of(*s.change), ": ", s.from, " becomes ", s.to.empty() ? "nothing" : s.to,
                     " (", meaning(*s.change), ")"),
                 14, 8)
      << "\n";
  if (!s.tried) return;
  out << "      "
      << wrapped(fmt::format("applied to a copy: {} -> {} predicted ({:+.1f} %), {}",
                             shown_ms(s.before_ms), shown_ms(s.after_ms),
                             (s.after_ms / s.before_ms - 1) * 100,
                             s.gone() ? "nothing keeps it on the CPU" : "still kept: " + s.left),
                 6, 8)
      << "\n";
}

}  // namespace

void show_suggestions(std::ostream& out, const compile::Compiled& c,
                      const std::vector<Suggestion>& list) {
  if (list.empty()) {
    out << "\nno node stays on the CPU\n";
    return;
  }
  out << "\nfallbacks, the dearest first, and what a change of the model gains; --apply makes it\n";
  for (const Suggestion& s : list) show(out, c, s);
}

Json to_json(const compile::Compiled& c, const std::vector<Suggestion>& list) {
  const Placement& p = c.plan.placement;
  Json out = Json::array();
  for (const Suggestion& s : list) {
    Json nodes = Json::array(), reasons = Json::array();
    for (const Fallback& f : s.nodes)
      nodes.push_back({{"name", p.graph.nodes[f.node].origin.name}, {"us", f.us}});
    for (const Reason& r : s.nodes.front().reasons)
      reasons.push_back({{"text", r.text}, {"where", r.where}, {"change", r.change}});
    Json entry = {{"op", qualified_name(*p.graph.nodes[s.nodes.front().node].op)},
                  {"nodes", nodes},
                  {"kept_by", name(s.nodes.front().kind)},
                  {"reasons", reasons},
                  {"us", us_of(s)},
                  {"change", Json()}};
    if (s.change)
      entry["change"] = {{"name", name_of(*s.change)},
                         {"from", s.from},
                         {"to", s.to},
                         {"exact", s.change->exact},
                         {"answers", s.change->answers},
                         {"before_ms", s.before_ms},
                         {"after_ms", s.after_ms},
                         {"gone", s.gone()},
                         {"left", s.left}};
    else
      entry["why_none"] = why_none(c, s);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace longshore
