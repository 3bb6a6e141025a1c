// KEY=VALUE as a command line has it, made into a line of a target file: what is right for a file
// is right for `--set`, and the reader says so.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/error.hpp"
#include "target/change.hpp"

namespace longshore {
namespace {

struct Short {
  std::string_view word, key;
};
/// What a section is mostly asked about.
constexpr Short shorts[] = {{"clock", "clock.mhz"},       {"cores", "cores.count"},
                            {"dataflow", "mac.dataflow"}, {"rows", "mac.rows"},
                            {"columns", "mac.columns"},   {"sram", "sram.bytes"},
                            {"dram", "dram.gb_per_s"}};

constexpr std::pair<std::string_view, int> units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

/// Digits, a sign, a point, an exponent: what TOML takes for a number, but for its spelling.
std::optional<double> number(std::string_view text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(v)) return {};
  return v;
}

std::string number_text(double v) {
  return v == std::floor(v) && std::abs(v) < 1e15 ? fmt::format("{}", static_cast<std::int64_t>(v))
                                                  : fmt::format("{}", v);
}

/// "1.5MiB" of a key that counts bytes is 1572864; a word is a string, a list stays one.
std::string value_text(std::string_view key, std::string_view value) {
  if (key.ends_with("bytes"))
    if (const std::optional<double> bytes = bytes_in(value)) return number_text(*bytes);
  if (const auto v = number(value)) return number_text(*v);
  if (value == "true" || value == "false" || value.starts_with('[')) return std::string(value);
  return quoted(value);
}

/// The path's tables. An operator's name may have dots: "ops.com.microsoft.Gelu.supported".
std::vector<std::string> parts_of(std::string_view key) {
  const std::size_t first = key.find('.');
  std::vector<std::string> out = {std::string(key.substr(0, first))};
  std::string_view rest = key.substr(first + 1);
  // Where the name with the dots ends: before the last word of a rule, at the end of a table.
  const bool rule = out[0] == "ops" || out[0] == "forms";
  const std::size_t dot = rule ? rest.rfind('.') : rest.find('.');
  out.emplace_back(rest.substr(0, dot));
  if (dot != std::string_view::npos) out.emplace_back(rest.substr(dot + 1));
  return out;
}

}  // namespace

std::optional<double> bytes_in(std::string_view text) {
  for (const auto& [unit, shift] : units)
    if (text.ends_with(unit))
      if (const auto v = number(text.substr(0, text.size() - unit.size())))
        return *v * static_cast<double>(std::int64_t{1} << shift);
  return number(text);
}

TargetChange target_change(std::string_view text) {
  const std::string where = str("--set ", text);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    fail(Code::bad_argument, where, ": expected KEY=VALUE, such as sram.bytes=1MiB");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      fail(Code::bad_argument, "--set: expected KEY=VALUE on one line, found a control character");
  std::string key(text.substr(0, equals));
  const std::string value(text.substr(equals + 1));
  if (key.starts_with("npu.")) key.erase(0, 4);
  const auto* shorthand = std::ranges::find(shorts, key, &Short::word);
  if (shorthand != std::end(shorts)) key = shorthand->key;

  const std::string section = key.substr(0, key.find('.'));
  std::vector<std::string> sections;
  for (const MachineField& f : machine_fields())
    if (const std::string s(f.key.substr(0, f.key.find('.')));
        sections.empty() || sections.back() != s)
      sections.push_back(s);
  const bool npu = key == "rounding" || key == "dtypes" ||
                   (section != key && std::ranges::find(sections, section) != sections.end());
  if (!npu && (section == key || (section != "cpu" && section != "forms" && section != "ops"))) {
    std::string known;
    for (const std::string& s : sections) known += s + ".KEY, ";
    known += "cpu.KEY, forms.FORM.KEY, ops.NAME.KEY";
    for (const Short& s : shorts) known += str(", ", s.word);
    fail(Code::bad_argument, where, ": unknown key '", key, "'; expected one of: ", known);
  }
  if (npu) key.insert(0, "npu.");

  std::string toml;
  for (const std::string& part : parts_of(key)) toml += (toml.empty() ? "" : ".") + quoted(part);
  return {.key = npu ? key.substr(4) : key,
          .value = value,
          .toml = toml + " = " + value_text(key, value),
          .where = where,
          .of_npu = section != "cpu"};
}

std::vector<TargetChange> target_changes(std::span<const std::string> texts) {
  std::vector<TargetChange> out;
  for (const std::string& text : texts) {
    TargetChange change = target_change(text);
    const auto twice = std::ranges::find(out, change.key, &TargetChange::key);
    if (twice != out.end())
      fail(Code::bad_argument, change.where, ": ", change.key, " is set by ", twice->where,
           " already");
    out.push_back(std::move(change));
  }
  return out;
}

}  // namespace longshore
