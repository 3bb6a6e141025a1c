#include <fmt/format.h>

#include "base/error.hpp"
#include "target/target.hpp"

namespace longshore {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    const auto code = static_cast<unsigned char>(c);
    out += code < 32 || code == 127 ? fmt::format("\\u{:04x}", code) : std::string(1, c);
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + quoted(w);
  return "[" + out + "]";
}

std::string rule(const Rule& r) {
  std::string out;
  if (!r.supported) out += "supported = false\n";
  if (!r.dtypes.empty()) out += "dtypes = " + list(r.dtypes) + "\n";
  for (const FactLimit& l : r.limits)
    out += fmt::format("{} = [{}, {}]\n", l.fact, l.lowest, l.highest);
  if (!r.any_activation) out += "activations = " + list(r.activations) + "\n";
  return out;
}

std::string table(std::string_view name, const std::map<std::string, double, std::less<>>& values) {
  std::string out = fmt::format("[cpu.{}]\n", name);
  for (const auto& [key, value] : values) out += fmt::format("{} = {}\n", quoted(key), value);
  return out;
}

}  // namespace

std::string print(const Target& t) {
  std::string out;
  for (const auto& [key, value] : t.changes) out += fmt::format("# --set {}={}\n", key, value);
  out += fmt::format("name = {}\ndoc = {}\n", quoted(t.name), quoted(t.doc));
  const Machine& m = t.machine;
  if (m.present) {
    std::vector<std::string> modes;
    for (int i = 0; i < 3; i++)
      if (m.rounds(i)) modes.emplace_back(name(Rounding(i)));
    out += "\n[npu]\nrounding = " + list(modes) + "\n";
    std::vector<std::string> dtypes;
    for (int i = 0; i < dtype_count; i++)
      if (DType(i) != DType::i32 && DType(i) != DType::i64 && m.dtypes.has(DType(i)))
        dtypes.emplace_back(name(DType(i)));
    if (dtypes.size() > 1) out += "dtypes = " + list(dtypes) + "\n";
    std::string section;
    for (const MachineField& f : machine_fields()) {
      const std::size_t dot = f.key.find('.');
      if (f.key.substr(0, dot) != section) {
        section = f.key.substr(0, dot);
        out += "\n[npu." + section + "]\n";
      }
      const double v = machine_number(m, f.key);
      const std::string value = f.kind == MachineField::Kind::dataflow ? quoted(name(m.dataflow))
                                : f.kind == MachineField::Kind::flag   ? (v != 0 ? "true" : "false")
                                : f.kind == MachineField::Kind::integer
                                    ? fmt::format("{}", static_cast<std::int64_t>(v))
                                    : fmt::format("{}", v);
      out += fmt::format("{} = {}\n", f.key.substr(dot + 1), value);
    }
    for (const auto& [form, r] : t.forms) out += fmt::format("\n[forms.{}]\n", form) + rule(r);
    for (const auto& [op, r] : t.ops) out += fmt::format("\n[ops.{}]\n", quoted(op)) + rule(r);
  }
  if (const auto& e = t.error)
    out +=
        fmt::format("\n[error]\nagainst = {}\nnets = {}\nmedian_percent = {}\nmost_percent = {}\n",
                    quoted(e->against), e->nets, e->median_percent, e->most_percent);
  const HostCpu& c = t.cpu;
  out += fmt::format(
      "\n[cpu]\nname = {}\ncores = {}\nghz = {}\nefficiency = {}\nbandwidth_gbs = {}\nstep_us = "
      "{}\n",
      quoted(c.name), c.cores, c.ghz, c.efficiency, c.bandwidth_gbs, c.step_us);
  return out + table("macs_per_cycle", c.macs_per_cycle) +
         table("ns_per_element", c.ns_per_element);
}

}  // namespace longshore
