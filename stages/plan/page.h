// Headings, sentences and tables, for a screen and as Markdown: one content, two looks.
#pragma once

#include <string>
#include <vector>

namespace zero {

// Rows under groups, as compare's tables; the first group's title stands beside the columns' names.
struct PageTable {
  struct Row {
    std::string label;
    std::vector<std::string> cells;  // empty: a group's title
  };
  std::vector<std::string> columns;  // the column of labels has no name
  std::vector<Row> rows;

  void group(const std::string& title) { rows.push_back({title, {}}); }
  void row(const std::string& label, std::vector<std::string> cells) {
    rows.push_back({label, std::move(cells)});
  }
};

class Page {
 public:
  void heading(const std::string& text) { parts_.push_back({Kind::heading, text, {}}); }
  void text(const std::string& text) { parts_.push_back({Kind::text, text, {}}); }
  void item(const std::string& text) { parts_.push_back({Kind::item, text, {}}); }
  void table(PageTable table) { parts_.push_back({Kind::table, "", std::move(table)}); }

  // No line is longer than `width`, unless a word or a table of one column is.
  std::string plain(int width) const;
  std::string markdown() const;

 private:
  enum class Kind { heading, text, item, table };
  struct Part {
    Kind kind;
    std::string text;
    PageTable table;
  };
  std::vector<Part> parts_;
};

}  // namespace zero
