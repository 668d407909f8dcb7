// Headings, sentences and tables in two looks.
#include "stages/plan/page.h"

#include "stages/compare/table.h"

namespace zero {
namespace {

std::string plain_table(const PageTable& table, int width) {
  Table plain(table.columns);
  for (const PageTable::Row& row : table.rows) {
    if (row.cells.empty()) {
      plain.group(row.label);
    } else {
      plain.row(row.label, row.cells);
    }
  }
  return plain.text(width);
}

// What would begin another cell or emphasis.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '<') result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_table(const PageTable& table) {
  std::string text = "|";
  std::size_t first = 0;
  if (!table.rows.empty() && table.rows.front().cells.empty()) {
    text += ' ' + escaped(table.rows.front().label);
    first = 1;
  }
  text += " |";
  for (const std::string& column : table.columns) text += ' ' + escaped(column) + " |";
  text += "\n|---|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) text += "---:|";
  text += '\n';
  for (std::size_t i = first; i < table.rows.size(); ++i) {
    const PageTable::Row& row = table.rows[i];
    const bool title = row.cells.empty();
    const std::size_t indent = std::min(row.label.find_first_not_of(' '), row.label.size());
    const std::string label = escaped(row.label.substr(indent));
    text += title ? "| **" + label + "** |" : "| " + label + " |";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      text += title ? " |" : ' ' + escaped(row.cells[c]) + " |";
    text += '\n';
  }
  return text;
}

}  // namespace

std::string Page::plain(int width) const {
  std::string text;
  const Part* before = nullptr;
  for (const Part& part : parts_) {
    const bool list = before && before->kind == Kind::item && part.kind == Kind::item;
    if (before && !list) text += '\n';
    if (part.kind == Kind::heading) {
      text += wrap(part.text, width) + '\n' +
              std::string(std::min<std::size_t>(part.text.size(), width), '=') + '\n';
    } else if (part.kind == Kind::text) {
      text += wrap(part.text, width) + '\n';
    } else if (part.kind == Kind::item) {
      text += "- " + wrap(part.text, width - 2, 2) + '\n';
    } else {
      text += plain_table(part.table, width);
    }
    before = &part;
  }
  return text;
}

std::string Page::markdown() const {
  std::string text;
  const Part* before = nullptr;
  for (const Part& part : parts_) {
    const bool list = before && before->kind == Kind::item && part.kind == Kind::item;
    if (before && !list) text += '\n';
    if (part.kind == Kind::heading) text += "## " + escaped(part.text) + '\n';
    if (part.kind == Kind::text) text += escaped(part.text) + '\n';
    if (part.kind == Kind::item) text += "- " + escaped(part.text) + '\n';
    if (part.kind == Kind::table) text += markdown_table(part.table);
    before = &part;
  }
  return text;
}

}  // namespace zero
