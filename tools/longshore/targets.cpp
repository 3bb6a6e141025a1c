#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "build_report.hpp"
#include "command.hpp"
#include "json.hpp"
#include "say.hpp"
#include "target/target.hpp"
#include "target_options.hpp"

namespace longshore::commands {
namespace {

struct Options {
  std::string target;
  std::vector<std::string> set;
  bool json = false;
};

Json rule_json(const Rule& r) {
  Json out = {{"supported", r.supported}};
  if (!r.dtypes.empty()) out["dtypes"] = r.dtypes;
  if (!r.any_activation) out["activations"] = r.activations;
  for (const FactLimit& l : r.limits) out[l.fact] = Json::array({l.lowest, l.highest});
  return out;
}

Json target_json(const Target& t) {
  Json out = {{"name", t.name}, {"doc", t.doc}, {"file", t.file}};
  for (const auto& [key, value] : t.changes) out["set"][key] = value;
  if (t.machine.present) {
    Json npu;
    for (const MachineField& f : machine_fields()) {
      const double v = machine_number(t.machine, f.key);
      const std::string section(f.key.substr(0, f.key.find('.'))),
          key(f.key.substr(f.key.find('.') + 1));
      if (f.kind == MachineField::Kind::dataflow)
        npu[section][key] = name(t.machine.dataflow);
      else if (f.kind == MachineField::Kind::flag)
        npu[section][key] = v != 0;
      else
        npu[section][key] = v;
    }
    for (int i = 0; i < 3; i++)
      if (t.machine.rounds(i)) npu["rounding"].push_back(name(Rounding(i)));
    out["npu"] = npu;
    for (const auto& [form, rule] : t.forms) out["forms"][form] = rule_json(rule);
    for (const auto& [op, rule] : t.ops) out["ops"][op] = rule_json(rule);
  }
  out["error"] = error_json(t.error);
  out["cpu"] = {{"name", t.cpu.name},
                {"cores", t.cpu.cores},
                {"ghz", t.cpu.ghz},
                {"macs_per_cycle", t.cpu.macs_per_cycle},
                {"efficiency", t.cpu.efficiency},
                {"bandwidth_gbs", t.cpu.bandwidth_gbs},
                {"step_us", t.cpu.step_us},
                {"ns_per_element", t.cpu.ns_per_element}};
  return out;
}

std::string rule_text(const Rule& r) {
  if (!r.supported) return "not supported";
  std::string out;
  const auto add = [&](const std::string& s) { out += (out.empty() ? "" : ", ") + s; };
  for (const std::string& d : r.dtypes) add(d);
  for (const FactLimit& l : r.limits) add(fmt::format("{} {}..{}", l.fact, l.lowest, l.highest));
  std::string fused;
  for (const std::string& a : r.activations) fused += (fused.empty() ? "" : " ") + a;
  if (!r.any_activation) add("fuses " + (fused.empty() ? "nothing" : fused));
  return out.empty() ? "no limits" : out;
}

/// '*' before what --set gave.
char mark(const Target& t, std::string_view key) {
  const bool set = std::ranges::any_of(t.changes, [&](const auto& c) { return c.first == key; });
  return set ? '*' : ' ';
}

void show(const Target& t) {
  std::cout << wrapped(t.name + ": " + t.doc, 0, 2) << "\n"
            << (t.file.empty() ? "" : "  file " + t.file + "\n");
  if (t.error) std::cout << "  " << wrapped(text_of(*t.error), 2, 2) << "\n";
  if (t.machine.present) {
    std::cout << "\nnpu\n";
    for (const MachineField& f : machine_fields()) {
      const double v = machine_number(t.machine, f.key);
      const std::string value = f.kind == MachineField::Kind::dataflow ? name(t.machine.dataflow)
                                : f.kind == MachineField::Kind::flag   ? (v != 0 ? "true" : "false")
                                                                       : fmt::format("{}", v);
      std::cout << fmt::format("{} {:<28} {:>17}  {}\n", mark(t, f.key), f.key, value,
                               wrapped(f.doc, 50, 50));
    }
    std::cout << "\noperators by form\n";
    for (const auto& [form, rule] : t.forms)
      std::cout << fmt::format("  {:<12} {}\n", form, wrapped(rule_text(rule), 15, 15, ", "));
    for (const auto& [op, rule] : t.ops)
      std::cout << fmt::format("  {:<12} {}\n", op, wrapped(rule_text(rule), 15, 15, ", "));
  }
  std::cout << "\n"
            << wrapped(
                   fmt::format("cpu: {}, {} cores at {} GHz, {} GB/s, {} us per step", t.cpu.name,
                               t.cpu.cores, t.cpu.ghz, t.cpu.bandwidth_gbs, t.cpu.step_us),
                   0, 2, ", ")
            << "\n";
  if (t.changes.empty()) return;
  std::cout << "\n"
            << wrapped("* not of the file but of --set: " + shown_changes(t), 0, 2, ", ") << "\n";
}

int run(const Options& o) {
  if (!o.target.empty()) {
    const Target t = load_target(o.target, o.set);
    if (o.json)
      print_json(target_json(t));
    else
      show(t);
    return exit_code::yes;
  }
  if (!o.set.empty())
    fail(Code::bad_argument, "--set changes one target: expected TARGET, found none");
  Json list = Json::array();
  for (const TargetName& n : target_names()) {
    // A broken file is named, and hides no other target.
    std::string doc;
    try {
      doc = load_target(n.file.empty() ? n.name : n.file).doc;
    } catch (const Error& e) {
      doc = std::string("cannot be read: ") + e.what();
    }
    if (o.json)
      list.push_back({{"name", n.name}, {"file", n.file}, {"doc", doc}});
    else
      std::cout << fmt::format("{:<16} {}\n", n.name, wrapped(doc, 17, 17));
  }
  if (o.json) print_json({{"targets", list}, {"warnings", warnings()}});
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("TARGET", o->target, "Name or file: shows that one in full");
  add_set_option(app, o->set);
  app.add_flag("--json", o->json, "JSON on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_targets = {
    .name = "targets",
    .doc = "Lists the targets, or shows one: every number, and what its NPU can do",
    .setup = setup,
};

}  // namespace longshore::commands
