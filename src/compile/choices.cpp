#include "compile/choices.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "target/change.hpp"

namespace longshore::compile {
namespace {

/// What makes programs faster than one node after the other, and what turns it off.
struct Mechanism {
  std::string_view name;
  void (*turn_off)(Options&);
};
constexpr Mechanism mechanisms[] = {
    // Values are walked as the work that reads them asks, without Transposes between.
    {"layout", [](Options& o) { o.place.choose_order = false; }},
    // Element-wise nodes work on the tile made before.
    {"fusion", [](Options& o) { o.plan.fuse = false; }},
    // A layer loads while the one before works.
    {"prefetch", [](Options& o) { o.plan.prefetch = false; }},
    // Layers hand each other stripes in SRAM.
    {"cascades", [](Options& o) { o.plan.cascade = false; }},
    // Layers that read the same value share its tiles.
    {"horizontal", [](Options& o) { o.plan.horizontal = false; }},
    // The tiles of a layer are shared out to the cores.
    {"cores", [](Options& o) { o.plan.cores = false; }},
    // Layers that need not wait for each other take turns, or a core each.
    {"branches", [](Options& o) { o.plan.branches = false; }},
};

/// NODE=cpu or NODE=npu; names may have equals signs.
std::pair<std::string, bool> forced_unit(const std::string& text) {
  const std::size_t at = text.rfind('=');
  const std::string unit = at == std::string::npos ? "" : text.substr(at + 1);
  if (at == 0 || (unit != "cpu" && unit != "npu"))
    fail(Code::bad_argument, "--force ", text, ": NODE=cpu or NODE=npu expected");
  return {text.substr(0, at), unit == "npu"};
}

std::uint32_t sram_cap(const Options& options, const std::string& text) {
  const std::optional<double> bytes = bytes_in(text);
  if (!bytes || *bytes < 1 || *bytes != std::floor(*bytes))
    fail(Code::bad_argument, "--sram-cap ", text, ": a size such as 196608 or 192KiB expected");
  if (options.target && *bytes > options.target->machine.sram_bytes)
    fail(Code::bad_argument, "--sram-cap ", text, ": at most ", options.target->machine.sram_bytes,
         " bytes expected, the SRAM that ", options.target->name, " has (--set sram=", text,
         " describes another chip)");
  return static_cast<std::uint32_t>(std::min(*bytes, 4294967295.0));
}

plan::Goal goal(const std::string& word) {
  if (word != "speed" && word != "size")
    fail(Code::bad_argument, "--optimize ", word, ": speed or size expected");
  return word == "size" ? plan::Goal::memory : plan::Goal::time;
}

}  // namespace

std::string mechanism_names() {
  std::string out;
  for (const Mechanism& m : mechanisms) out += str(out.empty() ? "" : " or ", m.name);
  return out;
}

void choose(Options& options, const std::string& option, const std::string& value) {
  if (option == "--force") {
    options.forced.push_back(forced_unit(value));
  } else if (option == "--without") {
    const auto* found = std::ranges::find(mechanisms, value, &Mechanism::name);
    if (found == std::end(mechanisms))
      fail(Code::bad_argument, "--without ", value, ": ", mechanism_names(), " expected");
    found->turn_off(options);
  } else if (option == "--sram-cap") {
    options.plan.sram_bytes = sram_cap(options, value);
  } else if (option == "--optimize") {
    options.plan.goal = goal(value);
  } else {
    fail(Code::bad_argument,
         "choices: --force, --without, --sram-cap or --optimize expected, found '", option, "'");
  }
  options.choices += str(option, " ", value, "\n");
}

void choose_all(Options& options, std::string_view lines) {
  while (!lines.empty()) {
    const std::string line(lines.substr(0, lines.find('\n')));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t space = std::min(line.find(' '), line.size());
    choose(options, line.substr(0, space), line.substr(std::min(space + 1, line.size())));
  }
}

}  // namespace longshore::compile
