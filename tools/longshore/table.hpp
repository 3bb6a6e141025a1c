// One table, shown on a terminal or as Markdown.
#pragma once
#include <string>
#include <vector>

namespace longshore {

struct Table {
  struct Column {
    std::string heading;
    int width = 0;  // on a terminal; 0: in Markdown alone
    bool number = true;
  };
  struct Row {
    std::vector<std::string> cells;
    /// Stands on a terminal in place of all numbers, and in Markdown in the last column.
    std::string instead = {};
    /// Lines below the row, indented.
    std::vector<std::string> notes = {};
  };
  std::vector<Column> columns;
  std::vector<Row> rows;

  /// At most 80 columns where the widths allow it. Words that are too long keep their beginning and
  /// end.
  std::string text() const;
  /// One row for each, then the notes as a list.
  std::string markdown() const;
};

}  // namespace longshore
