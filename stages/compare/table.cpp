// A table of right-aligned columns under headings.
#include "stages/compare/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace zero {

void Table::row(const std::string& label, std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a row needs a cell per column");
  rows_.push_back({label, std::move(cells)});
}

std::string Table::text(int width) const {
  std::size_t label_width = 0, column_width = 0;
  for (const std::string& name : columns_) column_width = std::max(column_width, name.size());
  for (const Row& row : rows_) {
    label_width = std::max(label_width, row.label.size());
    for (const std::string& cell : row.cells) column_width = std::max(column_width, cell.size());
  }
  column_width += 2;  // at least two spaces between columns
  const std::size_t room = static_cast<std::size_t>(std::max(width, 1));
  const std::size_t fit =
      std::max<std::size_t>(1, room > label_width ? (room - label_width) / column_width : 1);
  std::string text;
  for (std::size_t first = 0; first < columns_.size(); first += fit) {
    if (first > 0) text += '\n';
    text += part(first, std::min(fit, columns_.size() - first), label_width, column_width);
  }
  return text;
}

std::string Table::part(std::size_t first, std::size_t count, std::size_t label_width,
                        std::size_t column_width) const {
  std::string text;
  const auto line = [&](const std::string& label, const std::vector<std::string>& cells) {
    text += fmt::format("{:<{}}", label, label_width);
    for (std::size_t i = first; i < first + count; ++i)
      text += fmt::format("{:>{}}", cells[i], column_width);
    text += '\n';
  };
  const std::string rule(label_width + count * column_width, '-');
  // The first group's title stands beside the columns' names.
  const bool titled = !rows_.empty() && rows_.front().cells.empty();
  line(titled ? rows_.front().label : "", columns_);
  text += rule + '\n';
  for (std::size_t i = titled ? 1 : 0; i < rows_.size(); ++i) {
    if (rows_[i].cells.empty()) {
      text += fmt::format("\n{}\n{}\n", rows_[i].label, rule);
    } else {
      line(rows_[i].label, rows_[i].cells);
    }
  }
  return text;
}

std::string wrap(const std::string& text, int width, int indent) {
  std::string wrapped;
  std::size_t column = 0;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, to - from);
    if (column > 0 && column + 1 + word.size() > static_cast<std::size_t>(width)) {
      wrapped += '\n' + std::string(static_cast<std::size_t>(indent), ' ');
      column = static_cast<std::size_t>(indent);
    } else if (column > 0) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
    from = to + 1;
  }
  return wrapped;
}

}  // namespace zero
