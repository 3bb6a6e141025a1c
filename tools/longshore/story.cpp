#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "command.hpp"
#include "compile/near_names.hpp"
#include "json.hpp"
#include "say.hpp"
#include "story.hpp"

namespace longshore::commands {
namespace {

using stories::Comparison;
using stories::Story;

struct Options {
  std::string name;
  bool all = false, json = false;
};

const Story& story_named(const std::string& name) {
  std::vector<std::string> names;
  std::string known;
  for (const Story* s : stories::all()) {
    if (s->name == name) return *s;
    names.emplace_back(s->name);
    known += (known.empty() ? "" : ", ") + names.back();
  }
  fail(Code::bad_argument, "there is no story '", name, "'; there are: ", known,
       compile::near_names(name, names));
}

Json way_json(const stories::Way& w) { return {{"what", w.what}, {"ms", w.ms}}; }

Json story_json(const Story& s, const std::vector<Comparison>& told) {
  Json list = Json::array();
  for (const Comparison& c : told)
    list.push_back({{"what", c.what},
                    {"slow", way_json(c.slow)},
                    {"fast", way_json(c.fast)},
                    {"ratio", c.ratio()},
                    {"lowest", c.lowest},
                    {"highest", c.highest},
                    {"control", c.control},
                    {"holds", c.holds()}});
  return {{"name", s.name},      {"claim", s.claim},
          {"why", s.why},        {"amiss", s.amiss.empty() ? Json() : Json(s.amiss)},
          {"comparisons", list}, {"holds", stories::holds(told)}};
}

void show(const Story& s, const std::vector<Comparison>& told) {
  std::cout << wrapped(fmt::format("{}: {}", s.name, s.claim), 0, 2) << "\n\n  "
            << wrapped(s.why, 2, 2) << "\n";
  for (const Comparison& c : told) {
    std::cout << "\n  " << wrapped((c.control ? "control: " : "") + c.what, 2, 4) << "\n";
    for (const stories::Way* w : {&c.slow, &c.fast})
      std::cout << fmt::format("    {:<56} {:>12}\n", short_name(w->what, 56), shown_ms(w->ms));
    std::cout << fmt::format("    {:<56} {:>9.2f} x\n",
                             fmt::format("{:.2f} to {:.2f} expected, {}", c.lowest, c.highest,
                                         c.holds() ? "which holds" : "which does NOT hold"),
                             c.ratio());
  }
  if (!s.amiss.empty())
    std::cout << "\n  " << wrapped(fmt::format("Why: {}", s.amiss), 2, 2) << "\n";
}

/// "1.93", or one after the other.
std::string ratios(const std::vector<Comparison>& told, bool control) {
  std::string out;
  for (const Comparison& c : told)
    if (c.control == control) out += fmt::format("{}{:.2f}", out.empty() ? "" : " ", c.ratio());
  return out;
}
/// "1.80-2.10", likewise.
std::string ranges(const std::vector<Comparison>& told) {
  std::string out;
  for (const Comparison& c : told)
    if (!c.control)
      out += fmt::format("{}{:.2f}-{:.2f}", out.empty() ? "" : " ", c.lowest, c.highest);
  return out;
}

constexpr std::string_view row = "{:<20} {:>22} {:>14} {:>12}  {}\n";

void show_row(const Story& s, const std::vector<Comparison>& told) {
  std::cout << fmt::format(fmt::runtime(row), s.name, ranges(told), ratios(told, false),
                           ratios(told, true), stories::holds(told) ? "yes" : "NO")
            << "  " << wrapped(s.claim, 2, 2) << "\n"
            << std::flush;
  if (!stories::holds(told) && !s.amiss.empty())
    std::cout << "  " << wrapped(fmt::format("Why not: {}", s.amiss), 2, 2) << "\n";
}

int tell(const Options& o) {
  const Story& s = story_named(o.name);
  const std::vector<Comparison> told = s.tell();
  if (o.json) {
    Json out = story_json(s, told);
    out["warnings"] = warnings();
    print_json(out);
  } else {
    show(s, told);
  }
  return stories::holds(told) ? exit_code::yes : exit_code::no;
}

int tell_all(const Options& o) {
  Json list = Json::array();
  bool all_hold = true;
  if (!o.json)
    std::cout << fmt::format(fmt::runtime(row), "story", "claimed", "found", "control", "holds");
  for (const Story* s : stories::all()) {
    const std::vector<Comparison> told = s->tell();
    all_hold &= stories::holds(told);
    if (o.json)
      list.push_back(story_json(*s, told));
    else
      show_row(*s, told);
  }
  if (o.json) print_json({{"stories", list}, {"holds", all_hold}, {"warnings", warnings()}});
  return all_hold ? exit_code::yes : exit_code::no;
}

int list(const Options& o) {
  Json names = Json::array();
  for (const Story* s : stories::all())
    if (o.json)
      names.push_back({{"name", s->name}, {"claim", s->claim}});
    else
      std::cout << fmt::format("{:<20} {}\n", s->name, wrapped(s->claim, 21, 21));
  if (o.json) print_json({{"stories", names}, {"warnings", warnings()}});
  return exit_code::yes;
}

int run(const Options& o) {
  if (o.all && !o.name.empty())
    fail(Code::bad_argument, "story: expected NAME or --all, found both");
  if (!o.name.empty()) return tell(o);
  return o.all ? tell_all(o) : list(o);
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("NAME", o->name, "The story to tell; without it they are listed");
  app.add_flag("--all", o->all, "Tells all of them, as a table");
  app.add_flag("--json", o->json, "JSON on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_story = {
    .name = "story",
    .doc = "Rules of thumb as experiments on the simulator: what is said, what is found",
    .setup = setup,
};

}  // namespace longshore::commands
