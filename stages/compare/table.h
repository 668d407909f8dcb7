// A table of right-aligned columns under headings, as wide as the screen allows.
#pragma once

#include <string>
#include <vector>

namespace zero {

class Table {
 public:
  // One name per column; the column of labels has none.
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  // A group of rows begins.
  void group(const std::string& title) { rows_.push_back({title, {}}); }
  // One cell per column.
  void row(const std::string& label, std::vector<std::string> cells);

  // The text, each line at most `width` characters: when all columns do not fit beside each other
  // they follow below each other, as many at a time as fit (at least one).
  std::string text(int width) const;

 private:
  struct Row {
    std::string label;
    std::vector<std::string> cells;  // empty: a group's title
  };
  std::string part(std::size_t first, std::size_t count, std::size_t label_width,
                   std::size_t column_width) const;

  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

// `text` with line breaks between words, so that no line is longer than `width`.
std::string wrap(const std::string& text, int width, int indent = 0);

}  // namespace zero
