#include "table.hpp"

#include <fmt/format.h>

#include "say.hpp"

namespace longshore {
namespace {

/// What Markdown would take for the end of a cell or for markup.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string Table::text() const {
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells, const std::string& instead) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); i++) {
      const Column& c = columns[i];
      if (c.width == 0 || (c.number && !instead.empty())) continue;
      if (!line.empty()) line += ' ';
      // A number is never cut: the row is longer then.
      const std::string cell =
          c.number ? cells[i] : short_name(cells[i], static_cast<std::size_t>(c.width));
      line +=
          c.number ? fmt::format("{:>{}}", cell, c.width) : fmt::format("{:<{}}", cell, c.width);
    }
    if (!instead.empty()) line += ' ' + instead;
    out += trimmed(std::move(line)) + "\n";
  };
  std::vector<std::string> headings;
  for (const Column& c : columns) headings.push_back(c.heading);
  add(headings, "");
  for (const Row& r : rows) {
    add(r.cells, r.instead);
    for (const std::string& note : r.notes) out += "      " + wrapped(note, 6, 8) + "\n";
  }
  return out;
}

std::string Table::markdown() const {
  std::string out = "|", rule = "|", notes;
  for (const Column& c : columns) {
    out += " " + escaped(c.heading) + " |";
    rule += c.number ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const Row& r : rows) {
    out += "|";
    for (std::size_t i = 0; i < columns.size(); i++) {
      const bool last = i + 1 == columns.size();
      out += " " + escaped(last && !r.instead.empty() ? r.instead : r.cells[i]) + " |";
    }
    out += "\n";
    for (const std::string& note : r.notes)
      notes += "- " + escaped(r.cells.front()) + ": " + escaped(note) + "\n";
  }
  return out + (notes.empty() ? "" : "\n" + notes);
}

}  // namespace longshore
